// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/tty/outside_terminals.hpp"
#include "criu/tty/seen_session.hpp"

namespace criu::tty {

/// Terminals: pseudoterminals, consoles, virtual terminals, serial lines, and /dev/tty. Documentation/terminals.md
/// describes what the images have of them and how they are restored.
std::unique_ptr<files::FileKindDump> makeTtyDump(const std::vector<SeenSession>& sessions);
std::unique_ptr<files::FileKindRestore> makeTtyRestore(const OutsideTerminals& outside);

}  // namespace criu::tty
