// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_kinds.hpp"

#include "criu/files/eventfd.hpp"
#include "criu/files/pipe.hpp"

namespace criu::engine {

files::FileKinds makeFileKinds(files::PathDump& paths, const files::PathRemaps& remaps) {
    files::FileKinds kinds;
    kinds.push_back(files::makePipeKind());
    kinds.push_back(files::makeFifoKind());
    kinds.push_back(files::makeEventFdKind());
    kinds.push_back(files::makeRegularKind(paths, remaps));  // takes whatever has a path: last
    return kinds;
}

}  // namespace criu::engine
