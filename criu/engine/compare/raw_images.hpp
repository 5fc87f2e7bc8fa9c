// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Content of images that have a format of another program, in parts that can be compared.
namespace criu::engine {

/// Parts of an image: the text of each part by its name. Several parts may have one name.
using RawParts = std::multimap<std::string, std::string>;

/// Content that the images of a tmpfs store apart from its archive.
struct ContentApart {
    std::uint64_t size = 0;      ///< bytes
    std::uint64_t modified = 0;  ///< nanoseconds since the epoch
    std::size_t content = 0;     ///< ContentHash
};

/// Returns the files of a tmpfs. `archive`: file whose offset is the start of the archive. `apart`: contents that are
/// stored apart, by the paths of their files. Throws Error.
[[nodiscard]] RawParts partsOfArchive(int archive, const std::map<std::string, ContentApart>& apart);

/// Returns the netlink messages of a dump without sequence numbers and lifetimes. `magic`: true if a magic number
/// precedes the messages. A message that ends too late is returned as a part named "rest".
[[nodiscard]] RawParts partsOfNetlink(std::string_view bytes, bool magic);

/// Returns the lines of a packet filter without comments and counters.
[[nodiscard]] RawParts partsOfFilter(std::string_view text);

}  // namespace criu::engine
