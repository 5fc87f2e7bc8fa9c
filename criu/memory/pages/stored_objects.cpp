// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/stored_objects.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"

namespace criu::memory {
namespace {

std::optional<MemoryObject::Kind> kindOf(ImageKind image) noexcept {
    switch (image) {
        case ImageKind::Pagemap:
            return MemoryObject::Kind::Process;
        case ImageKind::ShmemPagemap:
            return MemoryObject::Kind::Shared;
        case ImageKind::FilesPagemap:
            return MemoryObject::Kind::Files;
        case ImageKind::DevicePagemap:
            return MemoryObject::Kind::Device;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::vector<MemoryObject> objectsIn(const ImageDir& images) {
    std::vector<MemoryObject> objects;
    for (const std::string& name : namesIn(images)) {
        const auto image = imageKindOf(name);
        const auto kind = image ? kindOf(*image) : std::nullopt;
        if (!kind)
            continue;
        MemoryObject object;
        object.kind = *kind;
        const char* const number = name.data() + name.rfind('-') + 1;
        if (std::from_chars(number, name.data() + name.size(), object.id).ec == std::errc())
            objects.push_back(object);
    }
    std::sort(objects.begin(), objects.end());
    return objects;
}

}  // namespace criu::memory
