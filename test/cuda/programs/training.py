#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains a network with PyTorch, one line "step loss" per step. usage: training.py STEPS [GPUS]

With two GPUs the second half of the network is on the second one.

The computation is deterministic, so a run with a dump and a restore must print the same lines as one without.
"""
import sys
import time

import torch

torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
WIDTH = 4096
LAST = torch.device("cuda", int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0)
first = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()).cuda()
second = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH)).to(LAST)
optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()], lr=1e-4)
generator = torch.Generator(device="cuda").manual_seed(11)
for step in range(int(sys.argv[1])):
    data = torch.randn(256, WIDTH, device="cuda", generator=generator)
    loss = (second(first(data).to(LAST)) - data.roll(1, 1).to(LAST)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex(), flush=True)
    time.sleep(0.05)
