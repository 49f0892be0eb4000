"""WGAN with gradient penalty: two ResNets, one makes images of 64x64."""

import keras
import tensorflow as tf
from keras import layers
from training import Training

from with_tensorflow.backend import Backend

_NOISE, _SIDE = 128, 64


def _block(found: keras.KerasTensor, out: int, *, grows: bool) -> keras.KerasTensor:
    """Two convolutions beside a short cut, which double or halve the side."""
    inner = out if grows else found.shape[3]

    def normal(features: keras.KerasTensor) -> keras.KerasTensor:
        # The critic's penalty is for each image, which batch norm would mix.
        layer = (
            layers.BatchNormalization()
            if grows
            else layers.GroupNormalization(groups=1)
        )
        return layers.ReLU()(layer(features))

    def early(features: keras.KerasTensor) -> keras.KerasTensor:
        return layers.UpSampling2D(2)(features) if grows else features

    def late(features: keras.KerasTensor) -> keras.KerasTensor:
        return features if grows else layers.AveragePooling2D(2)(features)

    body = layers.Conv2D(inner, 3, padding="same", use_bias=False)(early(normal(found)))
    body = late(layers.Conv2D(out, 3, padding="same")(normal(body)))
    return layers.Add()([body, late(layers.Conv2D(out, 1)(early(found)))])


def _generator(width: int) -> keras.Model:
    noise = layers.Input((_NOISE,))
    found = layers.Reshape((4, 4, 8 * width))(layers.Dense(4 * 4 * 8 * width)(noise))
    for factor in (8, 4, 2, 1):
        found = _block(found, factor * width, grows=True)
    found = layers.ReLU()(layers.BatchNormalization()(found))
    return keras.Model(noise, layers.Conv2D(3, 3, 1, "same", activation="tanh")(found))


def _critic(width: int) -> keras.Model:
    images = layers.Input((_SIDE, _SIDE, 3))
    found = layers.Conv2D(width, 3, padding="same")(images)
    for factor in (2, 4, 8, 8):
        found = _block(found, factor * width, grows=False)
    return keras.Model(images, layers.Dense(1)(layers.Flatten()(found)))


class _Adversaries(Training):
    def __init__(self, sizes: dict, backend: Backend) -> None:
        self._sizes = sizes
        self._generator, self._critic = (
            make(sizes["width"]) for make in (_generator, _critic)
        )
        self._generating, self._judging = (
            backend.optimizer(
                keras.optimizers.Adam(sizes["learning_rate"], beta_1=0.0, beta_2=0.9)
            )
            for _ in range(2)
        )
        shape = (sizes["batch_size"], _SIDE, _SIDE, 3)
        with tf.device("CPU"):
            self._batches = [
                tf.constant(backend.numbers.uniform(-1, 1, shape).astype("float32"))
                for _ in range(sizes["batches"])
            ]
        self._judge = tf.function(self._judged)
        self._generate = tf.function(self._generated)

    def _made(self) -> tf.Tensor:
        noise = tf.random.normal((self._sizes["batch_size"], _NOISE))
        return tf.cast(self._generator(noise, training=True), tf.float32)

    def _judged(self, real: tf.Tensor) -> tf.Tensor:
        made = self._made()
        share = tf.random.uniform((self._sizes["batch_size"], 1, 1, 1))
        between = share * real + (1 - share) * made
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = tf.cast(self._critic(between, training=True), tf.float32)
            slope = inner.gradient(judged, between)
            length = tf.sqrt(tf.reduce_sum(slope**2, (1, 2, 3)) + 1e-12)
            loss = self._distance(made, real) + self._sizes["penalty"] * tf.reduce_mean(
                (length - 1) ** 2
            )
            scaled = self._judging.scale_loss(loss)
        _apply(tape, scaled, self._critic, self._judging)
        return loss

    def _distance(self, made: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
        scores = [
            tf.cast(self._critic(x, training=True), tf.float32) for x in (made, real)
        ]
        return tf.reduce_mean(scores[0]) - tf.reduce_mean(scores[1])

    def _generated(self) -> None:
        with tf.GradientTape() as tape:
            judged = tf.cast(self._critic(self._made(), training=True), tf.float32)
            scaled = self._generating.scale_loss(-tf.reduce_mean(judged))
        _apply(tape, scaled, self._generator, self._generating)

    def step(self, number: int) -> tuple[float, tf.Tensor]:
        rounds = self._sizes["critic_steps"]
        for turn in range(rounds):
            place = (number * rounds + turn) % len(self._batches)
            loss = self._judge(self._batches[place])
        self._generate()
        return rounds * self._sizes["batch_size"], loss

    def measures(self) -> dict[str, float]:
        return {"distance": -float(self._distance(self._made(), self._batches[0]))}


def _apply(
    tape: tf.GradientTape,
    loss: tf.Tensor,
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer,
) -> None:
    weights = model.trainable_variables
    gradients = tape.gradient(loss, weights)
    optimizer.apply_gradients(zip(gradients, weights, strict=True))


def build(sizes: dict, backend: Backend) -> Training:
    """Return WGAN in training; a sample is a real image that the critic saw."""
    return _Adversaries(sizes, backend)
