// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>
#include <vector>

namespace compel {

/// Installation paths that a blob's author needs. If the variable COMPEL_UNINSTALLED_ROOTDIR contains the path of a
/// source tree, headers and scripts are in this tree, and libraries are in the directory of the program compel.
struct Paths {
    std::vector<std::string> includes;     ///< include directories of the C interface
    std::vector<std::string> cxxIncludes;  ///< include directories of the C++ interface
    std::string scripts;
    std::string cxxScripts;
    std::string plugins;
    std::string libraries;
    bool installed = true;

    static Paths find();
};

}  // namespace compel
