// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/paths.hpp"

#include <cstdlib>
#include <filesystem>

namespace compel {

Paths Paths::find() {
    const char* const root = std::getenv("COMPEL_UNINSTALLED_ROOTDIR");
    if (root == nullptr || *root == '\0')
        return {.includes = {COMPEL_INSTALL_INCLUDES},
                .cxxIncludes = {COMPEL_INSTALL_INCLUDES},
                .scripts = COMPEL_INSTALL_PLUGINS "/scripts",
                .cxxScripts = COMPEL_INSTALL_PLUGINS "/scripts",
                .plugins = COMPEL_INSTALL_PLUGINS,
                .libraries = COMPEL_INSTALL_LIBRARIES,
                .installed = true};
    const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    const auto folder = [&](const char* name) { return std::string(root) + name; };
    return {.includes = {folder("/c/include"), folder("/c/arch/" COMPEL_ARCH "/include")},
            .cxxIncludes = {folder("/include")},
            .scripts = folder("/c/arch/" COMPEL_ARCH "/plugins"),
            .cxxScripts = folder("/src/blob"),
            .plugins = own,
            .libraries = own,
            .installed = false};
}

}  // namespace compel
