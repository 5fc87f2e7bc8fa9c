// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/old_images.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu {
namespace {

/// Returns true if a dump, and no other command, writes images of this kind.
bool isOfDump(ImageKind kind) {
    return kind != ImageKind::Cpuinfo && kind != ImageKind::StatsDump && kind != ImageKind::StatsRestore &&
           kind != ImageKind::IrmapCache;
}

struct CloseDirectory {
    void operator()(DIR* list) const noexcept { ::closedir(list); }
};

}  // namespace

std::optional<ImageKind> imageKindOf(std::string_view file) {
    for (const ImageInfo& info : imageCatalogue()) {
        const std::string_view pattern = info.name;
        const std::size_t open = pattern.find('{');
        if (open == std::string_view::npos) {
            if (file == pattern)
                return info.kind;
            continue;
        }
        const std::string_view before = pattern.substr(0, open);
        const std::string_view after = pattern.substr(pattern.find('}') + 1);
        if (file.size() <= before.size() + after.size() || !file.starts_with(before) || !file.ends_with(after))
            continue;
        const std::string_view id = file.substr(before.size(), file.size() - before.size() - after.size());
        const bool hexadecimal = pattern.find(":x}") != std::string_view::npos;
        if (id.find_first_not_of(hexadecimal ? "0123456789abcdef" : "0123456789") == std::string_view::npos)
            return info.kind;
    }
    return std::nullopt;
}

std::vector<std::string> namesIn(const ImageDir& images) {
    const auto rights = images.takeRights();
    UniqueFd again(sys(::openat(images.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {} again", images.name()));
    const std::unique_ptr<DIR, CloseDirectory> list(::fdopendir(again.get()));
    if (!list)
        failErrno("read {}", images.name());
    (void)again.release();  // closedir(3) closes this descriptor
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(list.get()))
        names.emplace_back(static_cast<const char*>(entry->d_name));
    return names;
}

void removeOldImages(const ImageDir& images) {
    images.unlink(ImageKind::Inventory);
    std::vector<std::string> names = namesIn(images);
    std::erase_if(names, [](const std::string& name) {
        const auto kind = imageKindOf(name);
        return !kind || !isOfDump(*kind);
    });
    const auto rights = images.takeRights();
    for (const std::string& file : names)
        if (const int code = removeFile(images.fd(), file.c_str()); code != 0 && code != ENOENT)
            failWith(code, "remove {}, of an earlier dump, from {}", file, images.name());
}

}  // namespace criu
