// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// List of the files of an archive in a simple form: fixed heads, sizes, and bytes. A confined process writes the list
/// of an untrusted archive, and criu reads the list instead of the archive. The format exists only between two
/// processes of one restore.
namespace criu::namespaces {

/// Entry of an access control list, in the numbers of libarchive (archive_entry_acl(3)).
struct ListedAcl {
    std::int32_t type = 0;
    std::int32_t permissions = 0;
    std::int32_t tag = 0;
    std::int32_t id = 0;
    std::string name;
};

/// File of a list, without its content.
struct ListedFile {
    /// Properties of fixed size, as they are in the list.
    struct Numbers {
        std::uint32_t mode = 0;  ///< type and permission bits
        std::uint32_t user = 0;
        std::uint32_t group = 0;
        std::uint32_t nanosecondsAccessed = 0;
        std::uint32_t nanosecondsModified = 0;
        std::uint32_t given = 0;   ///< bits kAccessed to kSymlink: properties that the archive has
        std::uint64_t size = 0;    ///< bytes, with holes
        std::uint64_t device = 0;  ///< number of a device node
        std::int64_t accessed = 0;
        std::int64_t modified = 0;
    };
    static constexpr std::uint32_t kAccessed = 1;
    static constexpr std::uint32_t kModified = 2;
    static constexpr std::uint32_t kHardlink = 4;
    static constexpr std::uint32_t kSymlink = 8;

    [[nodiscard]] bool has(std::uint32_t property) const noexcept { return (numbers.given & property) != 0; }

    Numbers numbers;
    std::string path;
    std::string target;  ///< target of a hard link or of a symbolic link
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<ListedAcl> acl;
};

/// Writer of a list, from the start of a file on.
class FileListWriter {
public:
    explicit FileListWriter(int fd) noexcept : fd_(fd) {}

    /// Begins a file. Throws Error, also for a text that FileListReader refuses.
    void begin(const ListedFile& file);
    /// Adds content of the file.
    void block(std::uint64_t offset, std::span<const std::byte> content);
    /// Ends the file.
    void end();

private:
    void write(std::span<const std::byte> bytes);

    const int fd_;
    std::uint64_t offset_ = 0;
};

/// Reader of a list. The list is untrusted, because an exploited process may have written it: the reader checks all
/// sizes, and throws Error for each inconsistency. It allocates at most the size of the file.
class FileListReader {
public:
    explicit FileListReader(int fd);

    /// Reads the next file; skips unread content of the file before. Returns nullopt at the end of the list.
    [[nodiscard]] std::optional<ListedFile> next();

    /// Reads the next block of the file. Returns nullopt at the end of its content. The content is valid until the next
    /// call.
    struct Block {
        std::uint64_t offset = 0;
        std::span<const std::byte> content;
    };
    [[nodiscard]] std::optional<Block> block();

    /// Skips the unread content of the file. Returns its size in bytes, without holes. The list has no other number of
    /// this size, because a number could be wrong.
    std::uint64_t skip();

private:
    template <typename T>
    T take();
    std::string text(std::uint32_t size);
    void require(std::uint64_t size) const;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> blockHead();

    const int fd_;
    std::uint64_t offset_ = 0;
    std::uint64_t size_ = 0;
    bool inFile_ = false;  ///< true if blocks of a file follow
    std::vector<std::byte> content_;
};

}  // namespace criu::namespaces
