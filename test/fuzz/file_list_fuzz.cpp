// SPDX-License-Identifier: GPL-2.0-only
// Input: a list of files, as an exploited decoder may write it. A list that can be read must contain the same files
// when it is written and read again.
#include <sys/mman.h>

#include <string>
#include <utility>
#include <vector>

#include "criu/namespaces/mount/file_list.hpp"
#include "test/fuzz/input.hpp"

namespace {

using namespace criu;
using namespace criu::namespaces;

/// Reads a list, and writes it to another file. Returns the paths, and the number of bytes of content.
std::pair<std::vector<std::string>, std::uint64_t> copy(int from, int to) {
    FileListReader reader(from);
    FileListWriter writer(to);
    std::vector<std::string> paths;
    std::uint64_t bytes = 0;
    while (const auto file = reader.next()) {
        paths.push_back(file->path);
        writer.begin(*file);
        while (const auto block = reader.block()) {
            bytes += block->content.size();
            writer.block(block->offset, block->content);
        }
        writer.end();
    }
    return {paths, bytes};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const UniqueFd from = fuzz::fileOf({data, size});
    const UniqueFd to(::memfd_create("list", MFD_CLOEXEC));
    const UniqueFd again(::memfd_create("list", MFD_CLOEXEC));
    std::pair<std::vector<std::string>, std::uint64_t> first;
    try {
        first = copy(from.get(), to.get());
    } catch (const Error&) {
        return 0;
    }
    try {
        fuzz::require(copy(to.get(), again.get()) == first);
    } catch (const Error&) {
        fuzz::require(false);
    }
    return 0;
}
