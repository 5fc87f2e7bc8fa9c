// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>
#include <vector>

namespace compel {

/// Where what a blob's author needs is installed; with COMPEL_UNINSTALLED_ROOTDIR set, where it lies in the source tree
/// that the variable names (headers, scripts) and next to this program (libraries).
struct Paths {
    std::vector<std::string> includes;     ///< of the C interface
    std::vector<std::string> cxxIncludes;  ///< of the C++ interface
    std::string scripts;
    std::string cxxScripts;
    std::string plugins;
    std::string libraries;
    bool installed = true;

    static Paths find();
};

}  // namespace compel
