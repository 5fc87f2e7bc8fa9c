// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>

namespace compel {

struct HgenOptions {
    std::string input;
    /// Path of the header. Without `source`, the header also contains the bytes of the blob.
    std::string output;
    /// Path of a source file for the bytes of the blob; empty if the header contains the bytes. Only for blobs in C++.
    std::string source;
    /// C++ namespace of the generated names, or prefix of the names in C.
    std::string prefix;
};

/// Writes the header of a linked blob. For a blob in C++, the header has `namespace PREFIX { const compel::Blob blob;
/// }` and PREFIX::symbols, the offsets of the global symbols. For the C interface, it has the definitions that
/// compel/infect.h needs. Throws Error.
void generateHeader(const HgenOptions& options);

/// Returns a prefix for the name of a file, for instance "parasite" for "dir/parasite.po". Returns an empty text if the
/// name contains no valid prefix.
std::string guessPrefix(const std::string& path);

}  // namespace compel
