// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/file_list.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::namespaces {
namespace {

/// Maximum bytes of a path, of a name and of an extended attribute. The kernel's limits are lower or equal.
constexpr std::uint32_t kLongestText = 65536;
/// Maximum number of extended attributes, and of entries of an access control list.
constexpr std::uint32_t kMostParts = 4096;
/// Maximum bytes of a block of content.
constexpr std::uint64_t kLongestBlock = std::uint64_t{1} << 20;

struct FileHead {
    ListedFile::Numbers numbers;
    std::uint32_t path = 0;        ///< bytes of the path
    std::uint32_t target = 0;      ///< bytes of the target
    std::uint32_t attributes = 0;  ///< number of extended attributes
    std::uint32_t acl = 0;         ///< number of entries of the access control list
};
struct AttributeHead {
    std::uint32_t name = 0;   ///< bytes of the name
    std::uint32_t value = 0;  ///< bytes of the value
};
struct AclHead {
    std::int32_t type = 0;
    std::int32_t permissions = 0;
    std::int32_t tag = 0;
    std::int32_t id = 0;
    std::uint32_t name = 0;  ///< bytes of the name
};
struct BlockHead {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  ///< bytes of content; 0 ends the file
};

template <typename T>
std::span<const std::byte> bytesOfHead(const T& head) {
    static_assert(std::has_unique_object_representations_v<T>);  // padding would contain memory of the process
    return std::as_bytes(std::span(&head, 1));
}

std::uint32_t sizeOfText(std::string_view text) {
    if (text.size() > kLongestText)
        fail("a text of {} bytes exceeds the limit of {}", text.size(), kLongestText);
    return static_cast<std::uint32_t>(text.size());
}

std::uint32_t countOf(std::size_t parts) {
    if (parts > kMostParts)
        fail("{} attributes exceed the limit of {}", parts, kMostParts);
    return static_cast<std::uint32_t>(parts);
}

/// Throws Error for a zero byte in a text that criu passes to C functions.
void requireText(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
        fail("a name in a list of files has a zero byte");
}

}  // namespace

void FileListWriter::write(std::span<const std::byte> bytes) {
    writeAt(fd_, bytes, offset_);
    offset_ += bytes.size();
}

void FileListWriter::begin(const ListedFile& file) {
    std::vector<std::byte> all;
    const auto put = [&all](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); };
    const auto putText = [&put](std::string_view text) { put(std::as_bytes(std::span(text))); };
    put(bytesOfHead(FileHead{file.numbers, sizeOfText(file.path), sizeOfText(file.target),
                             countOf(file.attributes.size()), countOf(file.acl.size())}));
    putText(file.path);
    putText(file.target);
    for (const auto& [name, value] : file.attributes) {
        put(bytesOfHead(AttributeHead{sizeOfText(name), sizeOfText(value)}));
        putText(name);
        putText(value);
    }
    for (const ListedAcl& each : file.acl) {
        put(bytesOfHead(AclHead{each.type, each.permissions, each.tag, each.id, sizeOfText(each.name)}));
        putText(each.name);
    }
    write(all);
}

void FileListWriter::block(std::uint64_t offset, std::span<const std::byte> content) {
    while (!content.empty()) {
        const auto part = content.first(std::min<std::uint64_t>(content.size(), kLongestBlock));
        write(bytesOfHead(BlockHead{offset, part.size()}));
        write(part);
        offset += part.size();
        content = content.subspan(part.size());
    }
}

void FileListWriter::end() {
    write(bytesOfHead(BlockHead{}));
}

FileListReader::FileListReader(int fd) : fd_(fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "stat a list of files");
    size_ = static_cast<std::uint64_t>(status.st_size);
}

void FileListReader::require(std::uint64_t size) const {
    if (size > size_ - offset_)
        fail("a list of files ends too early, at {:#x}", size_);
}

template <typename T>
T FileListReader::take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    require(sizeof(value));
    readAt(fd_, std::as_writable_bytes(std::span(&value, 1)), offset_);
    offset_ += sizeof(value);
    return value;
}

std::string FileListReader::text(std::uint32_t size) {
    if (size > kLongestText)
        fail("a list of files has a text of {} bytes", size);
    require(size);
    std::string text(size, '\0');
    readAt(fd_, std::as_writable_bytes(std::span(text)), offset_);
    offset_ += size;
    return text;
}

std::optional<ListedFile> FileListReader::next() {
    skip();
    if (offset_ == size_)
        return std::nullopt;
    const auto head = take<FileHead>();
    if (head.attributes > kMostParts || head.acl > kMostParts)
        fail("a list of files has a file with {} attributes", std::max(head.attributes, head.acl));
    ListedFile file;
    file.numbers = head.numbers;
    file.path = text(head.path);
    file.target = text(head.target);
    for (std::uint32_t at = 0; at < head.attributes; ++at) {
        const auto each = take<AttributeHead>();
        std::string name = text(each.name);
        requireText(name);
        file.attributes.emplace_back(std::move(name), text(each.value));
    }
    for (std::uint32_t at = 0; at < head.acl; ++at) {
        const auto each = take<AclHead>();
        file.acl.push_back({each.type, each.permissions, each.tag, each.id, text(each.name)});
        requireText(file.acl.back().name);
    }
    requireText(file.path);
    requireText(file.target);
    inFile_ = true;
    return file;
}

/// Reads the head of the next block: offset and size. Returns nullopt at the end of the file.
std::optional<std::pair<std::uint64_t, std::uint64_t>> FileListReader::blockHead() {
    const auto head = take<BlockHead>();
    if (head.size == 0) {
        inFile_ = false;
        return std::nullopt;
    }
    if (head.size > kLongestBlock || head.offset > INT64_MAX - kLongestBlock)
        fail("a list of files has a block of {} bytes at {:#x}", head.size, head.offset);
    require(head.size);
    return std::pair(head.offset, head.size);
}

std::optional<FileListReader::Block> FileListReader::block() {
    const auto head = inFile_ ? blockHead() : std::nullopt;
    if (!head)
        return std::nullopt;
    content_.resize(head->second);
    readAt(fd_, content_, offset_);
    offset_ += head->second;
    return Block{head->first, content_};
}

std::uint64_t FileListReader::skip() {
    std::uint64_t bytes = 0;
    while (inFile_)
        if (const auto head = blockHead()) {
            offset_ += head->second;
            bytes += head->second;
        }
    return bytes;
}

}  // namespace criu::namespaces
