#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generates text with a language model of random weights, one line "step token" per token. usage: generate.py TOKENS

The model is GPT-2 of the transformers library, with its key-value cache. Without that library it is a small decoder
with such a cache. Every run generates the same text.
"""
import sys
import time

import torch

torch.manual_seed(5)
torch.use_deterministic_algorithms(True)
WORDS, WIDTH, LAYERS, HEADS = 5000, 768, 8, 12


class Block(torch.nn.Module):
    """A layer of a decoder."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.LayerNorm(WIDTH)
        self.attention = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.second = torch.nn.LayerNorm(WIDTH)
        self.wide = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, state, cache):
        """Returns the new state, and the cache for the next token."""
        query, key, value = (part.view(HEADS, 1, WIDTH // HEADS)
                             for part in self.attention(self.first(state)).split(WIDTH, dim=-1))
        if cache is not None:
            key, value = torch.cat([cache[0], key], 1), torch.cat([cache[1], value], 1)
        weights = torch.softmax(query @ key.transpose(1, 2) / (WIDTH // HEADS) ** 0.5, -1)
        state = state + self.out((weights @ value).reshape(1, WIDTH))
        return state + self.wide(self.second(state)), (key, value)


class OwnModel(torch.nn.Module):
    """A small decoder."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = torch.nn.LayerNorm(WIDTH)
        self.caches = [None] * LAYERS

    def following(self, token):
        """Returns the scores of the next token."""
        state = self.words(token.view(1))
        for index, block in enumerate(self.blocks):
            state, self.caches[index] = block(state, self.caches[index])
        return (self.last(state) @ self.words.weight.T)[0]


class LibraryModel:
    """GPT-2 of the transformers library."""

    def __init__(self):
        from transformers import GPT2Config, GPT2LMHeadModel  # pylint: disable=import-outside-toplevel
        self.model = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS)).cuda().eval()
        self.cache = None

    def following(self, token):
        """Returns the scores of the next token."""
        answer = self.model(token.view(1, 1), past_key_values=self.cache, use_cache=True)
        self.cache = answer.past_key_values
        return answer.logits[0, -1]


try:
    MODEL = LibraryModel()
    print("transformers", flush=True)
except Exception as error:  # the library isn't there, or doesn't go with this PyTorch  pylint: disable=broad-except
    print(f"own model, since transformers can't be used: {error}".replace("\n", " "), flush=True)
    torch.manual_seed(5)
    MODEL = OwnModel().cuda().eval()
chosen = torch.Generator(device="cuda").manual_seed(3)
word = torch.tensor(1, device="cuda")
with torch.no_grad():
    for step in range(int(sys.argv[1])):
        word = torch.multinomial(torch.softmax(MODEL.following(word), -1), 1, generator=chosen)[0]
        print(step, word.item(), flush=True)
        time.sleep(0.02)
