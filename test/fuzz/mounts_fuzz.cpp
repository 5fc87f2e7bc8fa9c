// SPDX-License-Identifier: GPL-2.0-only
// Mounts of a namespace, from mountinfo and from records of an image; options of autofs. An accepted tree can be
// traversed, and each path leads to a mount.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "choose.hpp"
#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/autofs.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"
#include "input.hpp"

namespace {

using namespace criu::namespaces;

void walk(const MountTree& tree) {
    if (tree.all().empty())
        return;
    std::size_t found = 0;
    for (const auto& [parent, children] : tree.children())
        found += children.size();
    const MountPaths paths(tree);
    for (const Mount& mount : tree.all())
        static_cast<void>(paths.isReachable(mount));
    criu::fuzz::require(found + 1 == tree.all().size());
}

void mountinfo(std::string_view text) {
    walk(MountTree::fromKernel(criu::kernel::MountTable(criu::kernel::parseMountInfo(text)), {}));
}

/// Builds records; a byte before each gives its size.
void image(std::string_view text) {
    std::vector<criu::Record<MntEntry>> records;
    while (!text.empty()) {
        const std::size_t size = std::min<std::size_t>(static_cast<unsigned char>(text.front()), text.size() - 1);
        records.push_back(criu::decode<MntEntry>(std::as_bytes(std::span(text.data() + 1, size))));
        text.remove_prefix(size + 1);
    }
    std::vector<const MntEntry*> entries;
    for (const auto& record : records)
        entries.push_back(record.get());
    walk(MountTree::fromImage(entries, {}));
}

void autofs(std::string_view text) {
    static_cast<void>(criu::kernel::parseAutofsOptions(text));
}

constexpr void (*kReaders[])(std::string_view) = {mountinfo, image, autofs};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return criu::fuzz::readByOneOf(kReaders, data, size);
}
