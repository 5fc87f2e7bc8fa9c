// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "criu/engine/compare/id_relations.hpp"
#include "criu/image/catalogue.hpp"

namespace criu {
class ImageDir;
}

namespace criu::engine {

/// Id of the object that a record describes.
struct ItemId {
    IdClass ids;
    std::uint64_t number;
};

/// Record of an image with its payload, or a whole file without records.
struct CheckpointItem {
    ImageKind kind{};
    std::uint64_t number = 0;                         ///< number in the name of the image; 0 if it has none
    std::shared_ptr<const ProtobufCMessage> message;  ///< null for files without records
    std::vector<std::byte> payload;                   ///< empty for files without records
    std::optional<ItemId> id;                         ///< empty for records that no id finds
    mutable bool compared = false;                    ///< true if the comparison has found its partner
};

using CheckpointItemList = std::vector<const CheckpointItem*>;

/// How a comparison finds the partner of an image's records.
enum class ItemSearch : std::uint8_t {
    Process,  ///< by pid or tid, which restores keep
    Id,       ///< by the id of the object
    Whole,    ///< lists of the whole tree
    Pages,    ///< content of memory, which is compared as such
    Ignored,  ///< no state of the tree
};

/// Returns how records of a kind are found.
[[nodiscard]] ItemSearch searchOf(ImageKind kind) noexcept;

/// All records of a checkpoint except contents of memory.
class CheckpointItems {
public:
    /// Reads all images of a directory. The version must be set. `checkStop`: called between images; throws to end the
    /// work. Throws Error.
    CheckpointItems(const ImageDir& images, const std::function<void()>& checkStop);
    ~CheckpointItems();
    CheckpointItems(const CheckpointItems&) = delete;
    CheckpointItems& operator=(const CheckpointItems&) = delete;

    /// Returns the records of an object, by kinds of images.
    [[nodiscard]] std::map<ImageKind, CheckpointItemList> of(IdClass ids, std::uint64_t number) const;
    /// Returns the records of an image.
    [[nodiscard]] CheckpointItemList of(ImageKind kind, std::uint64_t number = 0) const;
    /// Returns the only record of an image, or null if the image is missing or empty.
    [[nodiscard]] const CheckpointItem* one(ImageKind kind, std::uint64_t number = 0) const;
    [[nodiscard]] CheckpointItemList all() const;

    /// Names of files with the form of images that belong to no known kind.
    [[nodiscard]] const std::vector<std::string>& unknown() const noexcept { return unknown_; }
    [[nodiscard]] const ImageDir& images() const noexcept { return images_; }

private:
    void readImage(ImageKind kind, std::uint64_t number);
    void add(CheckpointItem item);
    [[nodiscard]] std::uint64_t timeNamespaceOfCriu() const;

    const ImageDir& images_;
    std::vector<std::unique_ptr<CheckpointItem>> items_;
    std::multimap<std::pair<IdClass, std::uint64_t>, const CheckpointItem*> byId_;
    std::multimap<std::pair<ImageKind, std::uint64_t>, const CheckpointItem*> byImage_;
    std::vector<std::string> unknown_;
};

}  // namespace criu::engine
