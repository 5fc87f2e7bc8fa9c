// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// Files whose state the kernel doesn't show, or doesn't let anybody set: claimed to be refused with the reason.
std::unique_ptr<FileKindDump> makeRefusedDump();

}  // namespace criu::files
