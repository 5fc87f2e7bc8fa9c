// SPDX-License-Identifier: GPL-2.0-only
// Program that scripts/archives.cmake links with criu/base/fmt/code.cpp, to find out if this version of fmt can be
// linked without its shared library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> words(argv, argv + argc);
        const std::string text =
            fmt::format("{} {:#x} {:>{}} {:.3f} {:L} {}", words, argc, argv[0], argc, 1.5, argc, fmt::join(words, ","));
        return text.size() + fmt::vformat(text, fmt::make_format_args(argc)).size() > 0 ? 0 : 1;
    } catch (const fmt::format_error&) {
        return 1;
    }
}
