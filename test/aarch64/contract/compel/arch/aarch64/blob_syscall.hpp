// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace compel::blob {

long rawSyscall(long number, long a, long b, long c, long d, long e, long f);

}  // namespace compel::blob
