// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_kinds.hpp"

#include "criu/files/eventfd.hpp"
#include "criu/files/pipe.hpp"
#include "criu/sockets/unix_kind.hpp"

namespace criu::engine {

files::FileKinds makeFileKinds(const KindResources& with) {
    files::FileKinds kinds;
    kinds.push_back(memory::makeMemfdKind(with.dumpedSegments, with.segments));
    kinds.push_back(files::makePipeKind());
    kinds.push_back(files::makeFifoKind());
    kinds.push_back(files::makeEventFdKind());
    kinds.push_back(sockets::makeUnixKind());
    kinds.push_back(files::makeRegularKind(with.paths, with.remaps));  // takes whatever has a path: last
    return kinds;
}

}  // namespace criu::engine
