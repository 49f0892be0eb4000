"""A3C: an actor-critic learns a game that processes beside it play."""

from typing import TYPE_CHECKING

import mxnet as mx
import numpy as np
from actors import HISTORY, Actors
from game import ACTIONS, FRAME, REWARDED
from mxnet import autograd, gluon, init
from mxnet.gluon import nn
from training import Training

if TYPE_CHECKING:
    from with_mxnet.backend import Backend


class Network(gluon.HybridBlock):
    """Two convolutions and a layer of 256, then the policy and the value."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(16, 8, 4, activation="relu"),
                nn.Conv2D(32, 4, 2, activation="relu"),
                nn.Dense(256, activation="relu"),
            )
            self.policy = nn.Dense(ACTIONS)
            self.value = nn.Dense(1)

    def hybrid_forward(self, F: object, frames: mx.nd.NDArray) -> tuple:  # noqa: N803 - MXNet's name
        """Return scores of the actions and values, of frames as bytes."""
        features = self.body(frames / 255)
        return self.policy(features), F.squeeze(self.value(features), axis=1)


class _Training(Training):
    def __init__(self, sizes: dict, backend: "Backend") -> None:
        self._sizes = sizes
        self._backend = backend
        self._network = Network()
        self._network.initialize(init.Xavier(), ctx=backend.context)
        self._network.hybridize()
        self._weights = self._network.collect_params()
        self._trainer = gluon.Trainer(
            self._weights, "adam", {"learning_rate": sizes["learning_rate"]}
        )
        self._actors = Actors(
            sizes["game"], sizes["batch_size"], sizes["actors"], backend.seed
        )
        self._frames = np.frombuffer(self._actors.frames, dtype="uint8").reshape(
            sizes["batch_size"], HISTORY, FRAME, FRAME
        )

    def __enter__(self) -> "_Training":
        self._actors.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._actors.__exit__(*error)

    def _seen(self) -> mx.nd.NDArray:
        return self._backend.placed(self._frames.astype("float32"))

    def step(self, number: int) -> "tuple[float, mx.nd.NDArray]":  # noqa: ARG002 - of the contract
        horizon = self._sizes["horizon"]
        frames, actions, rewards, goes_on = [], [], [], []
        for _ in range(horizon):
            seen = self._seen()
            scores, _ = self._network(seen)
            chosen = mx.nd.random.multinomial(mx.nd.softmax(scores))
            reward, over = self._actors.act(chosen.asnumpy().tolist())
            frames.append(seen)
            actions.append(chosen.astype("float32"))
            rewards.append(np.array(reward, "float32"))
            goes_on.append(1 - np.array(over, "float32"))
        _, value = self._network(self._seen())
        returns = [value.detach()]
        for move in reversed(range(horizon)):
            following = returns[0] * self._backend.placed(goes_on[move])
            earned = self._backend.placed(rewards[move])
            returns.insert(0, earned + self._sizes["discount"] * following)
        loss = self._learn(
            mx.nd.concat(*frames, dim=0),
            mx.nd.concat(*actions, dim=0),
            mx.nd.concat(*returns[:horizon], dim=0),
        )
        return horizon * self._sizes["batch_size"], loss

    def _learn(
        self, frames: mx.nd.NDArray, actions: mx.nd.NDArray, returns: mx.nd.NDArray
    ) -> mx.nd.NDArray:
        with autograd.record():
            scores, values = self._network(frames)
            logs = mx.nd.log_softmax(scores)
            advantage = returns - values
            chosen = mx.nd.pick(logs, actions)
            entropy = -(mx.nd.exp(logs) * logs).sum(axis=1)
            loss = (
                -chosen * advantage.detach()
                - self._sizes["entropy"] * entropy
                + self._sizes["value"] * advantage**2
            ).mean()
        loss.backward()
        self._trainer.allreduce_grads()
        gluon.utils.clip_global_norm(
            [weight.grad() for weight in self._weights.values()],
            self._sizes["largest_gradient"],
            check_isfinite=False,
        )
        self._trainer.update(1)
        return loss

    def measures(self) -> "dict[str, float]":
        scores, _ = self._network(self._seen())
        chances = mx.nd.softmax(scores).asnumpy()
        return {"chance_of_rewarded_action": float(chances[:, REWARDED].mean())}


def build(sizes: dict, backend: "Backend") -> Training:
    """Return A3C in training; a sample is a frame that it has seen."""
    return _Training(sizes, backend)
