// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/files/file_kind.hpp"

namespace criu::tty {

/// Terminals: pseudoterminals, consoles, virtual terminals, serial lines, and /dev/tty. Documentation/terminals.md
/// tells what is kept of them and how they come back.
std::unique_ptr<files::FileKind> makeTtyKind();

}  // namespace criu::tty
