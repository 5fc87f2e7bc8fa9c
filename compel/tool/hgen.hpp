// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>

namespace compel {

struct HgenOptions {
    std::string input;
    /// The header. Without `source` it holds the bytes too.
    std::string output;
    /// Where the bytes go, if not into the header; of blobs in C++ only.
    std::string source;
    /// C++ namespace of what is generated, or what names in C begin with.
    std::string prefix;
};

/// Makes a header of a linked blob. Of one in C++: `namespace PREFIX { const compel::Blob blob; }` and PREFIX::symbols,
/// offsets of the global symbols; of one of the C interface what compel/infect.h wants. Throws Error.
void generateHeader(const HgenOptions& options);

/// A namespace's name made of a file's: "dir/parasite.po" gives "parasite". Empty if there is none in it.
std::string guessPrefix(const std::string& path);

}  // namespace compel
