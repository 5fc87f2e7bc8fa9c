// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/overlay.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {
namespace {

/// Options of overlayfs that contain a single directory.
constexpr std::string_view kSingle[] = {"lowerdir+", "datadir+", "upperdir", "workdir"};

/// Returns the non-empty parts of a text between separators.
std::vector<std::string> partsOf(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        if (!part.empty())
            parts.push_back(part);
    return parts;
}

UniqueFd openLayer(int root, const OverlayLayer& layer) {
    const ErrorContext context([&] { return layer.option; });
    return openBelow(root, layer.path.substr(layer.path.find_first_not_of('/')), O_PATH | O_DIRECTORY);
}

/// Returns true if the root of an overlay has the times of its uppermost layer. The kernel shows the attributes of this
/// layer there. A ctime identifies the layer, because no process can set a ctime.
bool hasTimesOf(int overlay, int layer) {
    struct stat shown {};
    struct stat real {};
    sys(::fstat(overlay, &shown), "look at the overlay");
    sys(::fstat(layer, &real), "look at its uppermost layer");
    const auto same = [](const timespec& one, const timespec& other) {
        return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
    };
    return same(shown.st_ctim, real.st_ctim) && same(shown.st_mtim, real.st_mtim);
}

/// Returns the devices of all mounts on the paths of an overlay's layers.
std::set<std::uint32_t> devicesOfLayers(const PlannedOverlay& overlay) {
    const ErrorContext context([&] { return overlay.mount->describe(); });
    const std::vector<OverlayLayer> layers = OverlayOptions::parse(overlay.mount->options).layers;
    std::set<std::uint32_t> devices;
    for (const Mount& mount : overlay.around)
        if (std::any_of(layers.begin(), layers.end(), [&](const OverlayLayer& layer) {
                return layer.path == mount.mountPoint || pathBelow(mount.mountPoint, layer.path);
            }))
            devices.insert(mount.device);
    return devices;
}

}  // namespace

OverlayOptions OverlayOptions::parse(std::string_view options) {
    OverlayOptions found;
    if (options.find('\\') != std::string_view::npos)
        fail("its options have characters that can't be told from those which separate them: {}", options);
    const auto add = [&](std::string_view option, const std::string& path) {
        if (!path.starts_with('/') || path.find_first_not_of('/') == std::string::npos)
            fail("its {} is \"{}\", which leads elsewhere from another directory", option, path);
        found.layers.push_back({std::string(option), path});
    };
    for (const std::string& option : partsOf(std::string(options), ',')) {
        const std::size_t equals = std::min(option.find('='), option.size());
        const std::string key = option.substr(0, equals);
        const std::string value = option.substr(std::min(equals + 1, option.size()));
        const auto* const single = std::find(std::begin(kSingle), std::end(kSingle), key);
        if (key == "lowerdir") {
            // Layers after "::" contain only data.
            const std::size_t end = std::min(value.find("::"), value.size());
            for (const std::string& path : partsOf(value.substr(0, end), ':'))
                add("lowerdir+", path);
            for (const std::string& path : partsOf(value.substr(end), ':'))
                add("datadir+", path);
        } else if (single != std::end(kSingle)) {
            add(*single, value);
        } else {
            found.others += fmt::format("{}{}", found.others.empty() ? "" : ",", option);
        }
    }
    if (found.layers.empty())
        fail("its options name no directories: {}", options);
    return found;
}

std::vector<PlannedOverlay> inOrderOfLayers(const std::vector<PlannedOverlay>& overlays) {
    std::map<std::uint32_t, const PlannedOverlay*> byDevice;
    for (const PlannedOverlay& overlay : overlays)
        byDevice.emplace(overlay.mount->device, &overlay);
    std::vector<PlannedOverlay> ordered;
    std::set<std::uint32_t> seen;  // numbers of devices
    // Uses a list instead of recursion: the images decide how many overlays contain one another, and could exhaust the
    // stack.
    struct Waiting {
        const PlannedOverlay* overlay;
        bool hasLayers;  ///< true if the overlays with its layers are in the list, or in the result
    };
    std::vector<Waiting> waiting;
    for (auto overlay = overlays.rbegin(); overlay != overlays.rend(); ++overlay)
        waiting.push_back({&*overlay, false});
    while (!waiting.empty()) {
        const auto [overlay, hasLayers] = waiting.back();
        waiting.pop_back();
        if (hasLayers)
            ordered.push_back(*overlay);
        else if (seen.insert(overlay->mount->device).second) {
            waiting.push_back({overlay, true});
            for (const std::uint32_t device : devicesOfLayers(*overlay))
                if (const auto other = byDevice.find(device); other != byDevice.end())
                    waiting.push_back({other->second, false});
        }
    }
    return ordered;
}

void requireLayers(const Mount& mount, int overlay, int root) {
    const ErrorContext context([&] { return mount.describe(); });
    try {
        const std::vector<OverlayLayer> layers = OverlayOptions::parse(mount.options).layers;
        const auto upper = std::find_if(layers.begin(), layers.end(),
                                        [](const OverlayLayer& layer) { return layer.option == "upperdir"; });
        const OverlayLayer& top = upper != layers.end() ? *upper : layers.front();
        for (const OverlayLayer& layer : layers) {
            const UniqueFd directory = openLayer(root, layer);
            if (&layer == &top && !hasTimesOf(overlay, directory.get()))
                fail("its {}, {}, is another directory than when it was mounted", layer.option, layer.path);
        }
    } catch (Error& error) {
        error.addHint(fmt::format("if it comes from outside of the tree, name it with --external mnt[{}]:NAME",
                                  mount.mountPoint));
        throw;
    }
}

UniqueFd mountOverlay(const Mount& mount) {
    const ErrorContext context([&] { return mount.describe(); });
    const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
    const OverlayOptions options = OverlayOptions::parse(mount.options);
    std::vector<UniqueFd> opened;
    bool controlled = true;
    for (const OverlayLayer& layer : options.layers) {
        opened.push_back(openLayer(root.get(), layer));
        controlled = controlled && openControlled(layer.path, Trusted::RootOrSelf);
    }
    kernel::FileSystemParts parts{mount.fsType, mount.source, mount.options, mount.superFlags};
    if (controlled)
        return kernel::mountFileSystem(parts);
    // Passes descriptors of the layers. With paths, another user could replace a directory by a symbolic link between
    // this check and the kernel's lookup.
    parts.options = options.others;
    for (std::size_t at = 0; at < opened.size(); ++at)
        parts.descriptors.emplace_back(options.layers[at].option, opened[at].get());
    try {
        return kernel::mountFileSystem(parts);
    } catch (Error& error) {
        error.addHint(
            "its layers lie in directories that others may write to, so they were handed over as descriptors, "
            "which the kernel takes from 6.13 on");
        throw;
    }
}

}  // namespace criu::namespaces
