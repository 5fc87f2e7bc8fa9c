// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

namespace criu::model {
struct Options;
}

namespace criu::engine {

/// Returns the socket between a restore and a memory provider that the user passed by --inherit-fd
/// fd[N]:extmem-provider. Returns an invalid descriptor if the user passed none. Throws Error for another file than a
/// socket of type SOCK_SEQPACKET.
[[nodiscard]] UniqueFd passedProviderSocket(const model::Options& options);

}  // namespace criu::engine
