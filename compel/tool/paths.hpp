// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>
#include <vector>

namespace compel {

/// Installation paths that a blob's author needs. If COMPEL_UNINSTALLED_ROOTDIR is set, headers and scripts are in the
/// source tree that it names, and libraries are next to this program.
struct Paths {
    std::vector<std::string> includes;     ///< C interface
    std::vector<std::string> cxxIncludes;  ///< C++ interface
    std::string scripts;
    std::string cxxScripts;
    std::string plugins;
    std::string libraries;
    bool installed = true;

    static Paths find();
};

}  // namespace compel
