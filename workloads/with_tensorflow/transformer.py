"""Transformer, the base model, for translation."""

import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from training import Training

from with_tensorflow.backend import Backend, Learning

_BEGIN, _FIRST_WORD = 0, 1


class _Rate(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, sizes: dict) -> None:
        self._factor = sizes["learning_rate"] * sizes["hidden"] ** -0.5
        self._slope = sizes["warm_up"] ** -1.5

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        place = tf.cast(step, tf.float32) + 1
        return self._factor * tf.minimum(place**-0.5, place * self._slope)


def _places(length: int, hidden: int) -> np.ndarray:
    angles = np.arange(length)[:, None] * np.exp(
        np.arange(0, hidden, 2) * (-math.log(10_000) / hidden)
    )
    both = np.stack((np.sin(angles), np.cos(angles)), 2)
    return both.reshape(length, hidden).astype("float32")


def _added(
    features: keras.KerasTensor, change: keras.KerasTensor, sizes: dict
) -> keras.KerasTensor:
    change = layers.Dropout(sizes["dropout"])(change)
    return layers.LayerNormalization(epsilon=1e-5)(layers.Add()([features, change]))


def _attended(
    features: keras.KerasTensor,
    memory: keras.KerasTensor,
    sizes: dict,
    *,
    is_causal: bool = False,
) -> keras.KerasTensor:
    heads, hidden = sizes["heads"], sizes["hidden"]
    attention = layers.MultiHeadAttention(heads, hidden // heads)
    found = attention(features, memory, use_causal_mask=is_causal)
    return _added(features, found, sizes)


def _thought(features: keras.KerasTensor, sizes: dict) -> keras.KerasTensor:
    inner = layers.Dense(sizes["inner"], "relu")(features)
    return _added(features, layers.Dense(sizes["hidden"])(inner), sizes)


def network(sizes: dict) -> keras.Model:
    """Return the network; it gives the scores of the next words."""
    length, hidden = sizes["sentence"], sizes["hidden"]
    source = layers.Input((length,), dtype="int32")
    target = layers.Input((length,), dtype="int32")
    words = layers.Embedding(
        sizes["vocabulary"],
        hidden,
        keras.initializers.RandomNormal(stddev=hidden**-0.5),
    )
    places = _places(length, hidden)

    def embedded(text: keras.KerasTensor) -> keras.KerasTensor:
        found = layers.Rescaling(math.sqrt(hidden))(words(text))
        return layers.Dropout(sizes["dropout"])(found + places)

    memory = embedded(source)
    for _ in range(sizes["layers"]):
        memory = _thought(_attended(memory, memory, sizes), sizes)
    found = embedded(target)
    for _ in range(sizes["layers"]):
        found = _attended(found, found, sizes, is_causal=True)
        found = _thought(_attended(found, memory, sizes), sizes)
    return keras.Model([source, target], layers.Dense(sizes["vocabulary"])(found))


def build(sizes: dict, backend: Backend) -> Training:
    """Return the Transformer in training; a sample is a token of the target."""
    model, numbers = network(sizes), backend.numbers
    sentences = max(1, sizes["batch_size"] // sizes["sentence"])
    shape = (sentences, sizes["sentence"])

    def make() -> tuple[np.ndarray, ...]:
        source, target = (
            numbers.randint(_FIRST_WORD, sizes["vocabulary"], shape).astype("int32")
            for _ in range(2)
        )
        return source, target

    def loss_of(source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        begun = tf.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=_BEGIN)
        scores = tf.cast(model([source, begun], training=True), tf.float32)
        smooth = sizes["label_smoothing"]
        wanted = tf.one_hot(target, sizes["vocabulary"], 1 - smooth)
        wanted += smooth / sizes["vocabulary"]
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, scores))

    return Learning(
        backend,
        model,
        keras.optimizers.Adam(_Rate(sizes), beta_2=0.98, epsilon=1e-9),
        loss_of,
        make,
        sizes["batches"],
        lambda _: shape[0] * shape[1],
    )
