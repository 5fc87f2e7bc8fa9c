// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>

namespace compel {

struct HgenOptions {
    std::string input;
    /// Path of the header. Without `source` the header contains the bytes, too.
    std::string output;
    /// Path of the source with the bytes, if the header doesn't contain them. Only for blobs in C++.
    std::string source;
    /// C++ namespace of the generated names, or prefix of the names in C.
    std::string prefix;
};

/// Writes the header of a linked blob. For C++: `namespace PREFIX { const compel::Blob blob; }` and PREFIX::symbols,
/// the offsets of the global symbols. For the C interface: the definitions that compel/infect.h needs. Throws Error.
void generateHeader(const HgenOptions& options);

/// Derives a prefix from a file's name: "dir/parasite.po" gives "parasite". Empty if the name contains none.
std::string guessPrefix(const std::string& path);

}  // namespace compel
