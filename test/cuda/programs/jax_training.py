#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains a network with JAX, one line "step loss" per step. usage: jax_training.py STEPS. Exits with 77 if JAX doesn't
work."""
import sys
import time

try:
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        raise RuntimeError(f"JAX has no GPU but uses {jax.default_backend()}")
except Exception as problem:  # whatever keeps it from starting  pylint: disable=broad-except
    print(f"no JAX: {problem}".replace("\n", " "))
    sys.exit(77)

WIDTH = 2048
keys = jax.random.split(jax.random.PRNGKey(7), 3)
weights = [jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH ** 0.5 for key in keys[:2]]


def loss_of(parameters, data):
    """Returns the distance of the network from a rotation of its input."""
    return jnp.mean((jnp.tanh(data @ parameters[0]) @ parameters[1] - jnp.roll(data, 1, 1)) ** 2)


@jax.jit
def step_of(parameters, data):
    """Does one step of gradient descent."""
    loss, gradients = jax.value_and_grad(loss_of)(parameters, data)
    return loss, [weight - 0.05 * gradient for weight, gradient in zip(parameters, gradients)]


for step in range(int(sys.argv[1])):
    batch = jax.random.normal(jax.random.fold_in(keys[2], step), (256, WIDTH))
    value, weights = step_of(weights, batch)
    print(step, float(value).hex(), flush=True)
    time.sleep(0.05)
