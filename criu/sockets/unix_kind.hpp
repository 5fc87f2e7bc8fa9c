// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {
class PathRemaps;
}

namespace criu::sockets {
class ExternalSocketRestore;
class ExternalSocketDump;

/// Unix sockets of all types, with names, connections, queues and descriptors in flight.
std::unique_ptr<files::FileKindDump> makeUnixDump(ExternalSocketDump& carriers);
std::unique_ptr<files::FileKindRestore> makeUnixRestore(const ExternalSocketRestore& carried,
                                                        const files::PathRemaps& remaps);

}  // namespace criu::sockets
