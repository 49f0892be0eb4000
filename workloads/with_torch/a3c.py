"""A3C: an actor-critic learns a game that processes beside it play.

As the MXNet example that TBD measured: the games of all actors make one batch, and
after `horizon` moves the learner updates the network. It waits for the actors.
"""

import torch
from actors import HISTORY, Actors
from game import ACTIONS, FRAME, REWARDED
from torch import nn
from training import Training

from with_torch.backend import Backend


class Network(nn.Module):
    """Two convolutions and a layer of 256, then the policy and the value."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(HISTORY, 16, 8, 4),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 4, 2),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(32 * 9 * 9, 256),
            nn.ReLU(inplace=True),
        )
        self.policy = nn.Linear(256, ACTIONS)
        self.value = nn.Linear(256, 1)

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores of the actions and values, of frames as bytes."""
        features = self.body(frames.float() / 255)
        return self.policy(features), self.value(features).squeeze(1)


class _Training(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._sizes = sizes
        self._backend = backend
        self._network = Network().to(backend.device)
        self._parameters = list(self._network.parameters())
        self._optimizer = torch.optim.Adam(self._parameters, lr=sizes["learning_rate"])
        self._actors = Actors(
            sizes["game"], sizes["batch_size"], sizes["actors"], backend.seed
        )
        self._frames = torch.frombuffer(self._actors.frames, dtype=torch.uint8).view(
            sizes["batch_size"], HISTORY, FRAME, FRAME
        )

    def __enter__(self) -> "_Training":
        self._actors.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._actors.__exit__(*error)

    def _seen(self) -> torch.Tensor:
        return self._frames.to(self._backend.device, copy=True)

    def step(self, number: int) -> tuple[float, torch.Tensor]:  # noqa: ARG002 - of the contract
        horizon = self._sizes["horizon"]
        frames, actions, rewards, goes_on = [], [], [], []
        for _ in range(horizon):
            seen = self._seen()
            with torch.no_grad(), self._backend.precision():
                scores, _ = self._network(seen)
            chosen = torch.multinomial(torch.softmax(scores.float(), 1), 1).squeeze(1)
            reward, over = self._actors.act(chosen.tolist())
            frames.append(seen)
            actions.append(chosen)
            rewards.append(torch.tensor(reward))
            goes_on.append(~torch.tensor(over))
        with torch.no_grad(), self._backend.precision():
            _, value = self._network(self._seen())
        device = self._backend.device
        earned = torch.stack(rewards).to(device)
        lives = torch.stack(goes_on).to(device)
        returns = [value.float()]
        for move in reversed(range(horizon)):
            following = returns[0] * lives[move]
            returns.insert(0, earned[move] + self._sizes["discount"] * following)
        loss = self._loss(
            torch.cat(frames), torch.cat(actions), torch.cat(returns[:horizon])
        )
        self._backend.update(
            loss, self._optimizer, self._parameters, self._sizes["largest_gradient"]
        )
        return horizon * self._sizes["batch_size"], loss.detach()

    def _loss(
        self, frames: torch.Tensor, actions: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor:
        with self._backend.precision():
            scores, values = self._network(frames)
        logs = torch.log_softmax(scores.float(), 1)
        advantage = returns - values.float()
        chosen = logs.gather(1, actions.unsqueeze(1)).squeeze(1)
        entropy = -(logs.exp() * logs).sum(1)
        return (
            -(chosen * advantage.detach())
            - self._sizes["entropy"] * entropy
            + self._sizes["value"] * advantage**2
        ).mean()

    def measures(self) -> dict[str, float]:
        with torch.no_grad():
            scores, _ = self._network(self._seen())
        chances = torch.softmax(scores.float(), 1)
        return {"chance_of_rewarded_action": float(chances[:, REWARDED].mean())}


def build(sizes: dict, backend: Backend) -> Training:
    """Return A3C in training; a sample is a frame that it has seen."""
    return _Training(sizes, backend)
