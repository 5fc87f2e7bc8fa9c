// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/paths.hpp"

#include <cstdlib>
#include <filesystem>

namespace compel {

Paths Paths::find() {
    const char* const root = std::getenv("COMPEL_UNINSTALLED_ROOTDIR");
    if (root == nullptr || *root == '\0')
        return {.includes = COMPEL_INSTALL_INCLUDES,
                .scripts = COMPEL_INSTALL_LIBEXEC "/scripts",
                .plugins = COMPEL_INSTALL_LIBEXEC,
                .libraries = COMPEL_INSTALL_LIBRARIES,
                .installed = true};
    const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    return {.includes = std::string(root) + "/include",
            .scripts = std::string(root) + "/src/blob",
            .plugins = own,
            .libraries = own,
            .installed = false};
}

}  // namespace compel
