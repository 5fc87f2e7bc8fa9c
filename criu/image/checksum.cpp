// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/checksum.hpp"

#include <xxhash.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace criu {

Checksum::Checksum() : library_("libxxhash.so.0", "libxxhash0"), hash_(nullptr), seeded_(nullptr) {
    static_assert(std::is_same_v<decltype(&::XXH3_64bits), decltype(hash_)>);
    static_assert(std::is_same_v<decltype(&::XXH3_64bits_withSeed), decltype(seeded_)>);
    // libxxhash has two forms of each function. The form with "dispatch" in its name uses the widest instructions of
    // the processor. Some builds of libxxhash lack this form.
    hash_ = library_.find("XXH3_64bits_dispatch");
    if (hash_ == nullptr)
        hash_ = library_["XXH3_64bits"];
    seeded_ = library_.find("XXH3_64bits_withSeed_dispatch");
    if (seeded_ == nullptr)
        seeded_ = library_["XXH3_64bits_withSeed"];
}

void FileSumming::add(std::span<const std::byte> bytes) {
    sum_.size += bytes.size();
    if (!rest_.empty()) {
        const std::size_t part = std::min(bytes.size(), kChecksumPiece - rest_.size());
        rest_.insert(rest_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
        bytes = bytes.subspan(part);
        if (rest_.size() < kChecksumPiece)
            return;
        sum_.pieces.push_back(checksum_.of(rest_));
        rest_.clear();
    }
    for (; bytes.size() >= kChecksumPiece; bytes = bytes.subspan(kChecksumPiece))
        sum_.pieces.push_back(checksum_.of(bytes.first(kChecksumPiece)));
    rest_.assign(bytes.begin(), bytes.end());
}

FileSum FileSumming::finish(std::string name) {
    if (!rest_.empty())
        sum_.pieces.push_back(checksum_.of(rest_));
    sum_.name = std::move(name);
    return std::move(sum_);
}

}  // namespace criu
