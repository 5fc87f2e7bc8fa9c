// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <string>

namespace compel {

struct HgenOptions {
    std::string input;
    /// The header. Without `source` it holds the bytes too.
    std::string output;
    /// Where the bytes go, if not into the header.
    std::string source;
    /// C++ namespace of what is generated.
    std::string prefix;
};

/// Makes C++ of a linked blob: `namespace PREFIX { const compel::Blob blob; }` and PREFIX::symbols, offsets of the
/// global symbols. Throws Error.
void generateHeader(const HgenOptions& options);

/// A namespace's name made of a file's: "dir/parasite.po" gives "parasite". Empty if there is none in it.
std::string guessPrefix(const std::string& path);

}  // namespace compel
