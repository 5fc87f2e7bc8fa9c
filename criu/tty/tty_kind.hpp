// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

#include "criu/files/file_kind.fwd.hpp"

namespace criu::tty {
class OutsideTerminals;
struct SeenSession;

/// Terminals: pseudoterminals, consoles, virtual terminals, serial lines, and /dev/tty. Documentation/terminals.md
/// describes what the images have of them and how they are restored.
std::unique_ptr<files::FileKindDump> makeTtyDump(const std::vector<SeenSession>& sessions);
std::unique_ptr<files::FileKindRestore> makeTtyRestore(const OutsideTerminals& outside);

}  // namespace criu::tty
