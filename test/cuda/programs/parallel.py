#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains on several ranks, started by torchrun. Each rank prints lines "RANK step loss". usage: parallel.py STEPS
BACKEND"""
import os
import sys
import time

import torch
import torch.distributed as dist

torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
RANK = int(os.environ["RANK"])
DEVICE = torch.device("cuda", RANK % torch.cuda.device_count())
torch.cuda.set_device(DEVICE)
dist.init_process_group(sys.argv[2])
WIDTH = 1024
net = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH)).to(DEVICE)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
generator = torch.Generator(device=DEVICE).manual_seed(11 + RANK)
for step in range(int(sys.argv[1])):
    data = torch.randn(64, WIDTH, device=DEVICE, generator=generator)
    loss = (net(data) - data.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    # The ranks share one unbuffered output, and print() writes a line and its end separately. So a single write is
    # used.
    os.write(1, f"{RANK} {step} {loss.item().hex()}\n".encode())
    time.sleep(0.05)
dist.destroy_process_group()
