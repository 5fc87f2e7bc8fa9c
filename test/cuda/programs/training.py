#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains a network with PyTorch, one line "step loss" per step. usage: training.py STEPS

Every run computes the same, so the lines of one that was dumped and restored on the way must be those of one that wasn't.
"""
import sys
import time

import torch

torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
WIDTH = 4096
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH),
                            torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
generator = torch.Generator(device="cuda").manual_seed(11)
for step in range(int(sys.argv[1])):
    data = torch.randn(256, WIDTH, device="cuda", generator=generator)
    loss = (model(data) - data.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), flush=True)
    time.sleep(0.05)
