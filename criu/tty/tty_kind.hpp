// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

#include "criu/files/file_kind.fwd.hpp"

namespace criu::tty {
class OutsideTerminals;
struct SeenSession;

/// Fd kind of terminals: pseudoterminals, consoles, virtual terminals, serial lines, and /dev/tty.
/// Documentation/terminals.md describes their images and their restore.
std::unique_ptr<files::FileKindDump> makeTtyDump(const std::vector<SeenSession>& sessions);
std::unique_ptr<files::FileKindRestore> makeTtyRestore(const OutsideTerminals& outside);

}  // namespace criu::tty
