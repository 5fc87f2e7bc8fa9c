// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/file_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/content_hash.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/namespaces/mount/archive_library.hpp"
#include "criu/namespaces/mount/archive_writer.hpp"
#include "criu/namespaces/mount/file_list.hpp"

namespace criu::namespaces {
namespace {

/// File from which libarchive reads an archive by a callback. archive_read_open_fd(3) would call fstat(2), which a
/// confined process may not call.
struct ArchiveInput {
    const ArchiveFunctions& lib;
    int fd;
    std::vector<std::byte> block = std::vector<std::byte>(kArchiveBlock);

    static la_ssize_t read(archive* reader, void* input, const void** content) {
        auto& self = *static_cast<ArchiveInput*>(input);
        *content = self.block.data();
        for (;;) {
            const ssize_t got = ::read(self.fd, self.block.data(), self.block.size());
            if (got >= 0)
                return got;
            if (errno == EINTR)
                continue;
            self.lib.archive_set_error(reader, errno, "read(2) failed");
            return ARCHIVE_FATAL;
        }
    }
};

/// Opens the archive of `input`, which must outlive the result.
Archive openArchive(const ArchiveFunctions& lib, ArchiveInput& input) {
    Archive reader(lib.archive_read_new(), lib.archive_read_free);
    lib.check(lib.archive_read_support_filter_gzip(reader.get()), reader.get(), "prepare to read an archive");
    lib.check(lib.archive_read_support_format_tar(reader.get()), reader.get(), "prepare to read an archive");
    lib.check(lib.archive_read_open(reader.get(), &input, nullptr, ArchiveInput::read, nullptr), reader.get(),
              "read an archive");
    return reader;
}

/// Reads the header of the next file. Returns null at the end of the archive.
archive_entry* nextFile(const ArchiveFunctions& lib, const Archive& reader) {
    archive_entry* entry = nullptr;
    const int next = lib.archive_read_next_header(reader.get(), &entry);
    if (next == ARCHIVE_EOF)
        return nullptr;
    lib.check(next, reader.get(), "read an archive");
    return entry;
}

/// Returns the size of a file's content without holes.
std::uint64_t sizeWithoutHoles(const ArchiveFunctions& lib, archive_entry* entry) {
    if (lib.archive_entry_sparse_reset(entry) == 0)
        return static_cast<std::uint64_t>(std::max<la_int64_t>(lib.archive_entry_size(entry), 0));
    std::uint64_t bytes = 0;
    la_int64_t offset = 0;
    la_int64_t length = 0;
    while (lib.archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK)
        if (__builtin_add_overflow(bytes, static_cast<std::uint64_t>(std::max<la_int64_t>(length, 0)), &bytes))
            return std::numeric_limits<std::uint64_t>::max();
    return bytes;
}

/// Calls `visit` with each block of the current file and the offset of the block.
template <typename Visit>
void forEachBlock(const ArchiveFunctions& lib, const Archive& reader, const std::string& path, const Visit& visit) {
    for (;;) {
        const void* block = nullptr;
        std::size_t size = 0;
        la_int64_t offset = 0;
        const int read = lib.archive_read_data_block(reader.get(), &block, &size, &offset);
        if (read == ARCHIVE_EOF)
            return;
        lib.check(read, reader.get(), "read the content of {}", path);
        visit(std::string_view(static_cast<const char*>(block), size), offset);
    }
}

/// Returns a hash of the content of the current file.
std::size_t hashContent(const ArchiveFunctions& lib, const Archive& reader, const std::string& path) {
    ContentHash hash;
    forEachBlock(lib, reader, path, [&hash](std::string_view block, la_int64_t offset) {
        hash.add(static_cast<std::uint64_t>(offset), block);
    });
    return hash.finish();
}

std::string textOrEmpty(const char* text) {
    return text != nullptr ? text : "";
}

/// Converts the current file of an archive for a list.
ListedFile listed(const ArchiveFunctions& lib, archive_entry* entry) {
    ListedFile file;
    file.path = textOrEmpty(lib.archive_entry_pathname(entry));
    ListedFile::Numbers& numbers = file.numbers;
    numbers.mode = lib.archive_entry_mode(entry);
    numbers.user = static_cast<std::uint32_t>(lib.archive_entry_uid(entry));
    numbers.group = static_cast<std::uint32_t>(lib.archive_entry_gid(entry));
    numbers.size = static_cast<std::uint64_t>(std::max<la_int64_t>(lib.archive_entry_size(entry), 0));
    numbers.device = lib.archive_entry_rdev(entry);
    if (lib.archive_entry_atime_is_set(entry) != 0) {
        numbers.given |= ListedFile::kAccessed;
        numbers.accessed = lib.archive_entry_atime(entry);
        numbers.nanosecondsAccessed = static_cast<std::uint32_t>(lib.archive_entry_atime_nsec(entry));
    }
    if (lib.archive_entry_mtime_is_set(entry) != 0) {
        numbers.given |= ListedFile::kModified;
        numbers.modified = lib.archive_entry_mtime(entry);
        numbers.nanosecondsModified = static_cast<std::uint32_t>(lib.archive_entry_mtime_nsec(entry));
    }
    if (const char* const target = lib.archive_entry_hardlink(entry); target != nullptr) {
        numbers.given |= ListedFile::kHardlink;
        file.target = target;
    } else if (const char* const link = lib.archive_entry_symlink(entry); link != nullptr) {
        numbers.given |= ListedFile::kSymlink;
        file.target = link;
    }
    lib.archive_entry_xattr_reset(entry);
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    while (lib.archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK)
        file.attributes.emplace_back(textOrEmpty(name), std::string(static_cast<const char*>(value), size));
    constexpr int kPosix = ARCHIVE_ENTRY_ACL_TYPE_ACCESS | ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;
    lib.archive_entry_acl_reset(entry, kPosix);
    ListedAcl each;
    while (lib.archive_entry_acl_next(entry, kPosix, &each.type, &each.permissions, &each.tag, &each.id, &name) ==
           ARCHIVE_OK) {
        each.name = textOrEmpty(name);
        file.acl.push_back(each);
    }
    return file;
}

/// Converts a file of a list to an entry of libarchive.
void fillEntry(const ArchiveFunctions& lib, const ListedFile& file, archive_entry* entry) {
    const ListedFile::Numbers& numbers = file.numbers;
    lib.archive_entry_clear(entry);
    lib.archive_entry_copy_pathname(entry, file.path.c_str());
    lib.archive_entry_set_mode(entry, numbers.mode);
    lib.archive_entry_set_uid(entry, numbers.user);
    lib.archive_entry_set_gid(entry, numbers.group);
    if (numbers.size > static_cast<std::uint64_t>(std::numeric_limits<la_int64_t>::max()))
        fail("{} has {} bytes", file.path, numbers.size);
    lib.archive_entry_set_size(entry, static_cast<la_int64_t>(numbers.size));
    lib.archive_entry_set_rdev(entry, numbers.device);
    if (file.has(ListedFile::kAccessed))
        lib.archive_entry_set_atime(entry, numbers.accessed, static_cast<long>(numbers.nanosecondsAccessed));
    if (file.has(ListedFile::kModified))
        lib.archive_entry_set_mtime(entry, numbers.modified, static_cast<long>(numbers.nanosecondsModified));
    if (file.has(ListedFile::kHardlink))
        lib.archive_entry_copy_hardlink(entry, file.target.c_str());
    else if (file.has(ListedFile::kSymlink))
        lib.archive_entry_copy_symlink(entry, file.target.c_str());
    for (const auto& [name, value] : file.attributes)
        lib.archive_entry_xattr_add_entry(entry, name.c_str(), value.data(), value.size());
    for (const ListedAcl& each : file.acl)
        (void)lib.archive_entry_acl_add_entry(entry, each.type, each.permissions, each.tag, each.id, each.name.c_str());
}

/// Files that unpack() creates, in one of both forms.
class FilesToUnpack {
public:
    FilesToUnpack(const ArchiveFunctions& lib, int from, FileArchives::Form form)
        : lib_(lib), entry_(lib.archive_entry_new(), lib.archive_entry_free) {
        if (form == FileArchives::Form::List)
            list_.emplace(from);
        else
            archive_ = openArchive(lib, input_.emplace(ArchiveInput{lib, from}));
    }

    /// Returns the next file; null at the end.
    archive_entry* next() {
        if (!list_)
            return nextFile(lib_, archive_);
        const auto file = list_->next();
        if (!file)
            return nullptr;
        fillEntry(lib_, *file, entry_.get());
        return entry_.get();
    }

    /// Calls `visit` with each block of the file's content and the offset of the block.
    template <typename Visit>
    void blocks(const std::string& path, const Visit& visit) {
        if (!list_)
            return forEachBlock(lib_, archive_, path, visit);
        while (const auto block = list_->block())
            visit(std::string_view(reinterpret_cast<const char*>(block->content.data()), block->content.size()),
                  static_cast<la_int64_t>(block->offset));
    }

private:
    const ArchiveFunctions& lib_;
    std::optional<ArchiveInput> input_;
    Archive archive_{nullptr, nullptr};
    std::optional<FileListReader> list_;
    ArchiveEntry entry_;
};

/// Scope that changes the current directory of the process.
class ArchiveDirectoryScope {
public:
    explicit ArchiveDirectoryScope(int directory)
        : back_(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory")) {
        sys(::fchdir(directory), "enter a directory");
    }
    ~ArchiveDirectoryScope() {
        if (::fchdir(back_.get()) != 0)
            ::abort();  // later file operations would use a wrong directory
    }
    ArchiveDirectoryScope(const ArchiveDirectoryScope&) = delete;
    ArchiveDirectoryScope& operator=(const ArchiveDirectoryScope&) = delete;

private:
    UniqueFd back_;
};

}  // namespace

FileArchives::FileArchives() : library_(std::make_unique<ArchiveFunctions>()) {}

void FileArchives::load() noexcept {
    (void)SharedLibrary::isInstalled(kArchiveLibrary);
}

FileArchives::~FileArchives() = default;

std::vector<SocketFile> FileArchives::pack(int directory, int to, const model::IdMap& ids, FileContents* apart,
                                           StopRequest& stop) const {
    return packFiles(*library_, directory, to, ids, apart, stop);
}

void FileArchives::writeList(int from, int to) const {
    const ArchiveFunctions& lib = *library_;
    ArchiveInput input{lib, from};
    const Archive reader = openArchive(lib, input);
    FileListWriter list(to);
    while (archive_entry* const entry = nextFile(lib, reader)) {
        const ListedFile file = listed(lib, entry);
        const ErrorContext context([&] { return file.path; });
        list.begin(file);
        forEachBlock(lib, reader, file.path, [&list](std::string_view block, la_int64_t offset) {
            list.block(static_cast<std::uint64_t>(offset), std::as_bytes(std::span(block)));
        });
        list.end();
    }
}

void FileArchives::forEachFile(int from, Form form, const std::function<void(std::uint64_t bytes)>& visit) const {
    if (form == Form::List) {
        FileListReader list(from);
        while (list.next())
            visit(list.skip());
        return;
    }
    ArchiveInput input{*library_, from};
    const Archive reader = openArchive(*library_, input);
    while (archive_entry* const entry = nextFile(*library_, reader))
        visit(sizeWithoutHoles(*library_, entry));
}

std::vector<ArchivedFile> FileArchives::list(int from) const {
    const ArchiveFunctions& lib = *library_;
    ArchiveInput input{lib, from};
    const Archive reader = openArchive(lib, input);
    std::vector<ArchivedFile> files;
    while (archive_entry* const entry = nextFile(lib, reader)) {
        ArchivedFile& file = files.emplace_back();
        file.path = textOrEmpty(lib.archive_entry_pathname(entry));
        file.mode = lib.archive_entry_mode(entry);
        file.user = static_cast<uid_t>(lib.archive_entry_uid(entry));
        file.group = static_cast<gid_t>(lib.archive_entry_gid(entry));
        file.size = static_cast<std::uint64_t>(std::max<la_int64_t>(lib.archive_entry_size(entry), 0));
        file.device = S_ISCHR(file.mode) || S_ISBLK(file.mode) ? lib.archive_entry_rdev(entry) : 0;
        file.modified = {lib.archive_entry_mtime(entry), lib.archive_entry_mtime_nsec(entry)};
        file.target = textOrEmpty(lib.archive_entry_hardlink(entry)) + textOrEmpty(lib.archive_entry_symlink(entry));
        lib.archive_entry_xattr_reset(entry);
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        while (lib.archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK)
            file.attributes.emplace(textOrEmpty(name), std::string(static_cast<const char*>(value), size));
        file.content = hashContent(lib, reader, file.path);
    }
    return files;
}

void FileArchives::unpack(int from, Form form, int directory) const {
    const ArchiveFunctions& lib = *library_;
    const ArchiveDirectoryScope stay(directory);
    FilesToUnpack files(lib, from, form);
    const Archive disk(lib.archive_write_disk_new(), lib.archive_write_free);
    // The paths of an archive must not lead out of the directory, because the archive is untrusted.
    lib.check(lib.archive_write_disk_set_options(
                  disk.get(), ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                  ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_ACL | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                  ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS),
              disk.get(), "prepare to make files");
    std::optional<std::array<timespec, 2>> ownTimes;
    while (archive_entry* const entry = files.next()) {
        const std::string path = textOrEmpty(lib.archive_entry_pathname(entry));
        lib.check(lib.archive_write_header(disk.get(), entry), disk.get(), "make {}", path);
        if (path == "." || path == "./")
            ownTimes = {{{lib.archive_entry_atime(entry), lib.archive_entry_atime_nsec(entry)},
                         {lib.archive_entry_mtime(entry), lib.archive_entry_mtime_nsec(entry)}}};
        files.blocks(path, [&](std::string_view block, la_int64_t offset) {
            const la_ssize_t written = lib.archive_write_data_block(disk.get(), block.data(), block.size(), offset);
            lib.check(static_cast<int>(std::min<la_ssize_t>(written, 0)), disk.get(), "write {}", path);
        });
        lib.check(lib.archive_write_finish_entry(disk.get()), disk.get(), "make {}", path);
    }
    lib.check(lib.archive_write_close(disk.get()), disk.get(), "set times and modes of directories");
    if (ownTimes)  // libarchive doesn't set the times of the top directory
        changeTimes(directory, (*ownTimes)[0], (*ownTimes)[1]);
}

void makeSocketFiles(const std::vector<SocketFile>& sockets, int directory) {
    for (const SocketFile& socket : sockets) {
        const std::string last = socket.path.substr(socket.path.rfind('/') + 1);  // without a slash, npos + 1 is 0
        if (last.empty() || last == "." || last == "..")
            fail("{} is no name of a socket's file", socket.path);
        const ErrorContext context([&] { return fmt::format("the file of a socket, {}", socket.path); });
        // The path comes from an image, and its directories from an archive; both are untrusted.
        kernel::CreatedName name = kernel::CreatedName::below(directory, socket.path);
        struct stat before {};
        sys(::fstat(name.directory(), &before), "stat the directory");
        const UniqueFd file = name.createNode(S_IFSOCK);
        changeOwner(file.get(), socket.user, socket.group);
        changeMode(file.get(), socket.mode);
        changeTimes(file.get(), socket.modified, socket.modified);
        changeTimes(name.directory(), before.st_atim, before.st_mtim);
        name.release();
    }
}

}  // namespace criu::namespaces
