"""Deep Speech 2: convolutions and recurrent layers turn spectrograms into text."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from training import Training

from with_tensorflow.backend import Backend, Learning

_SPECTRA_PER_SECOND = 100
_LETTERS = 29


def network(sizes: dict) -> keras.Model:
    """Return the network; it gives the scores of the letters."""
    sound = layers.Input((None, sizes["frequencies"], 1))
    found = sound
    for kernel, stride in (((11, 41), (2, 2)), ((11, 21), (1, 2))):
        found = layers.Conv2D(
            sizes["channels"], kernel, stride, "same", use_bias=False
        )(found)
        found = layers.ReLU(20.0)(layers.BatchNormalization()(found))
    found = layers.Reshape((-1, found.shape[2] * found.shape[3]))(found)
    for _ in range(sizes["layers"]):
        gru = layers.GRU(sizes["hidden"], return_sequences=True)
        found = layers.BatchNormalization()(found)
        found = layers.Bidirectional(gru, merge_mode="sum")(found)
    found = layers.BatchNormalization()(found)
    return keras.Model(sound, layers.Dense(_LETTERS)(found))


def build(sizes: dict, backend: Backend) -> Training:
    """Return Deep Speech 2 in training; a sample is a second of audio."""
    model, numbers, count = network(sizes), backend.numbers, sizes["batch_size"]
    buckets = range(sizes["shortest"], sizes["longest"] + 1, sizes["bucket"])

    def make() -> tuple[np.ndarray, ...]:
        length = buckets[numbers.randint(len(buckets))]
        said = max(1, length * 14 // _SPECTRA_PER_SECOND)
        return (
            numbers.randn(count, length, sizes["frequencies"], 1).astype("float32"),
            numbers.randint(1, _LETTERS, (count, said)).astype("int32"),
        )

    def loss_of(sound: tf.Tensor, letters: tf.Tensor) -> tf.Tensor:
        scores = tf.cast(model(sound, training=True), tf.float32)
        losses = tf.nn.ctc_loss(
            letters,
            scores,
            tf.fill((count,), tf.shape(letters)[1]),
            tf.fill((count,), tf.shape(scores)[1]),
            logits_time_major=False,
            blank_index=0,
        )
        return tf.reduce_mean(losses) / tf.cast(tf.shape(letters)[1], tf.float32)

    optimizer = keras.optimizers.SGD(
        sizes["learning_rate"],
        momentum=sizes["momentum"],
        nesterov=True,
        global_clipnorm=sizes["largest_gradient"],
    )
    return Learning(
        backend,
        model,
        optimizer,
        loss_of,
        make,
        sizes["batches"],
        lambda batch: count * batch[0].shape[1] / _SPECTRA_PER_SECOND,
    )
