// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/image_outlet.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"

namespace criu {
namespace {

constexpr std::size_t kCopyBuffer = std::size_t{1} << 20;

void sendPart(int file, std::uint64_t start, std::uint64_t end, ImageOutlet::File& to, std::span<std::byte> buffer) {
    while (start < end) {
        const auto piece = buffer.first(std::min<std::uint64_t>(buffer.size(), end - start));
        readAt(file, piece, start);
        to.write(start, piece);
        start += piece.size();
    }
}

}  // namespace

void sendImages(const ImageDir& images, ImageOutlet& outlet, Sent what) {
    std::vector<std::string> names = namesIn(images);
    const std::string last = imageName(ImageKind::Inventory);
    std::erase_if(names, [what](const std::string& name) {
        return name == "." || name == ".." || (what == Sent::Images && !name.ends_with(".img"));
    });
    std::sort(names.begin(), names.end());
    std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return name != last; });
    std::vector<std::byte> buffer(kCopyBuffer);
    for (const std::string& name : names) {
        const ErrorContext context([&] { return name; });
        const std::optional<UniqueFd> file = images.openNamed(name, O_RDONLY);
        if (!file)
            failWith(ENOENT, "open it in {}", images.name());
        struct stat status {};
        sys(::fstat(file->get(), &status), "look at it");
        if (!S_ISREG(status.st_mode))
            continue;
        const auto size = static_cast<std::uint64_t>(status.st_size);
        const auto to = outlet.create(name);
        if (outlet.inOrder())
            sendPart(file->get(), 0, size, *to, buffer);
        else
            forEachData(file->get(), size, [&](std::uint64_t start, std::uint64_t end) {
                sendPart(file->get(), start, std::min(end, size), *to, buffer);
            });
        to->finish(size);
    }
}

}  // namespace criu
