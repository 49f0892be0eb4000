"""Seq2Seq: an LSTM reads a sentence, another one with additive attention writes it.

`lstm=cudnn` leaves the LSTM to cuDNN on a GPU, `lstm=unrolled` runs cell after cell;
the attention follows the decoder either way.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from training import Training

from with_tensorflow.backend import Backend, Learning

_PADDING, _BEGIN, _FIRST_WORD = 0, 1, 2


def _lstm(inputs: keras.KerasTensor, sizes: dict, states: list | None) -> tuple:
    """Return the states of all words, and the last ones of each layer."""
    last = []
    unrolls = sizes["lstm"] == "unrolled"
    for layer in range(sizes["layers"]):
        inputs, *state = layers.LSTM(
            sizes["hidden"],
            return_sequences=True,
            return_state=True,
            unroll=unrolls,
            use_cudnn=False if unrolls else "auto",
        )(inputs, initial_state=None if states is None else states[layer])
        last.append(state)
    return inputs, last


def network(sizes: dict) -> keras.Model:
    """Return the network; it gives the scores of the next words."""
    source = layers.Input((sizes["longest"],), dtype="int32")
    target = layers.Input((sizes["longest"],), dtype="int32")
    embed = [layers.Embedding(sizes["vocabulary"], sizes["hidden"]) for _ in "st"]
    memory, states = _lstm(embed[0](source), sizes, None)
    decoded, _ = _lstm(embed[1](target), sizes, states)
    is_word = keras.ops.not_equal(source, _PADDING)
    query = layers.Dense(sizes["hidden"], use_bias=False)(decoded)
    key = layers.Dense(sizes["hidden"], use_bias=False)(memory)
    seen = layers.AdditiveAttention()([query, memory, key], mask=[None, is_word])
    mixed = layers.Concatenate()([decoded, seen])
    mixed = layers.Dense(sizes["hidden"], "tanh", use_bias=False)(mixed)
    return keras.Model([source, target], layers.Dense(sizes["vocabulary"])(mixed))


def build(sizes: dict, backend: Backend) -> Training:
    """Return Seq2Seq in training; a sample is a pair of sentences."""
    model, numbers, count = network(sizes), backend.numbers, sizes["batch_size"]

    def words() -> np.ndarray:
        longest = sizes["longest"]
        found = numbers.randint(_FIRST_WORD, sizes["vocabulary"], (count, longest))
        lengths = numbers.randint(sizes["shortest"], longest + 1, (count, 1))
        found[np.arange(longest) >= lengths] = _PADDING
        return found.astype("int32")

    def make() -> tuple[np.ndarray, ...]:
        source, target = words()[:, ::-1], words()
        begun = np.concatenate((np.full((count, 1), _BEGIN, "int32"), target), 1)
        return source, begun[:, :-1], target

    def loss_of(source: tf.Tensor, begun: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        scores = tf.cast(model([source, begun], training=True), tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target, scores)
        counts = tf.cast(target != _PADDING, tf.float32)
        return tf.reduce_sum(losses * counts) / tf.reduce_sum(counts)

    optimizer = keras.optimizers.Adam(
        sizes["learning_rate"], global_clipnorm=sizes["largest_gradient"]
    )
    return Learning(
        backend, model, optimizer, loss_of, make, sizes["batches"], lambda _: count
    )
