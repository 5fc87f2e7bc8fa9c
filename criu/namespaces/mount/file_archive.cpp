// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/file_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/shared_library.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/content_hash.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/namespaces/mount/file_contents.hpp"
#include "criu/namespaces/mount/file_list.hpp"

namespace criu::namespaces {
namespace {

constexpr const char* kArchiveLibrary = "libarchive.so.13";

}  // namespace

/// Functions of libarchive(3) that criu calls. The constructor loads the library. Each member has the name of its
/// function.
struct ArchiveFunctions {
    SharedLibrary library{kArchiveLibrary, "libarchive13"};
    decltype(&::archive_entry_acl_add_entry) archive_entry_acl_add_entry = library["archive_entry_acl_add_entry"];
    decltype(&::archive_entry_acl_next) archive_entry_acl_next = library["archive_entry_acl_next"];
    decltype(&::archive_entry_acl_reset) archive_entry_acl_reset = library["archive_entry_acl_reset"];
    decltype(&::archive_entry_atime) archive_entry_atime = library["archive_entry_atime"];
    decltype(&::archive_entry_atime_is_set) archive_entry_atime_is_set = library["archive_entry_atime_is_set"];
    decltype(&::archive_entry_atime_nsec) archive_entry_atime_nsec = library["archive_entry_atime_nsec"];
    decltype(&::archive_entry_clear) archive_entry_clear = library["archive_entry_clear"];
    decltype(&::archive_entry_copy_hardlink) archive_entry_copy_hardlink = library["archive_entry_copy_hardlink"];
    decltype(&::archive_entry_copy_pathname) archive_entry_copy_pathname = library["archive_entry_copy_pathname"];
    decltype(&::archive_entry_copy_stat) archive_entry_copy_stat = library["archive_entry_copy_stat"];
    decltype(&::archive_entry_copy_symlink) archive_entry_copy_symlink = library["archive_entry_copy_symlink"];
    decltype(&::archive_entry_free) archive_entry_free = library["archive_entry_free"];
    decltype(&::archive_entry_gid) archive_entry_gid = library["archive_entry_gid"];
    decltype(&::archive_entry_hardlink) archive_entry_hardlink = library["archive_entry_hardlink"];
    decltype(&::archive_entry_mode) archive_entry_mode = library["archive_entry_mode"];
    decltype(&::archive_entry_mtime) archive_entry_mtime = library["archive_entry_mtime"];
    decltype(&::archive_entry_mtime_is_set) archive_entry_mtime_is_set = library["archive_entry_mtime_is_set"];
    decltype(&::archive_entry_mtime_nsec) archive_entry_mtime_nsec = library["archive_entry_mtime_nsec"];
    decltype(&::archive_entry_new) archive_entry_new = library["archive_entry_new"];
    decltype(&::archive_entry_pathname) archive_entry_pathname = library["archive_entry_pathname"];
    decltype(&::archive_entry_rdev) archive_entry_rdev = library["archive_entry_rdev"];
    decltype(&::archive_entry_set_atime) archive_entry_set_atime = library["archive_entry_set_atime"];
    decltype(&::archive_entry_set_gid) archive_entry_set_gid = library["archive_entry_set_gid"];
    decltype(&::archive_entry_set_mode) archive_entry_set_mode = library["archive_entry_set_mode"];
    decltype(&::archive_entry_set_mtime) archive_entry_set_mtime = library["archive_entry_set_mtime"];
    decltype(&::archive_entry_set_rdev) archive_entry_set_rdev = library["archive_entry_set_rdev"];
    decltype(&::archive_entry_set_size) archive_entry_set_size = library["archive_entry_set_size"];
    decltype(&::archive_entry_set_uid) archive_entry_set_uid = library["archive_entry_set_uid"];
    decltype(&::archive_entry_size) archive_entry_size = library["archive_entry_size"];
    decltype(&::archive_entry_sparse_add_entry) archive_entry_sparse_add_entry =
        library["archive_entry_sparse_add_entry"];
    decltype(&::archive_entry_sparse_next) archive_entry_sparse_next = library["archive_entry_sparse_next"];
    decltype(&::archive_entry_sparse_reset) archive_entry_sparse_reset = library["archive_entry_sparse_reset"];
    decltype(&::archive_entry_symlink) archive_entry_symlink = library["archive_entry_symlink"];
    decltype(&::archive_entry_uid) archive_entry_uid = library["archive_entry_uid"];
    decltype(&::archive_entry_xattr_add_entry) archive_entry_xattr_add_entry = library["archive_entry_xattr_add_entry"];
    decltype(&::archive_entry_xattr_next) archive_entry_xattr_next = library["archive_entry_xattr_next"];
    decltype(&::archive_entry_xattr_reset) archive_entry_xattr_reset = library["archive_entry_xattr_reset"];
    decltype(&::archive_errno) archive_errno = library["archive_errno"];
    decltype(&::archive_error_string) archive_error_string = library["archive_error_string"];
    decltype(&::archive_read_data_block) archive_read_data_block = library["archive_read_data_block"];
    decltype(&::archive_read_free) archive_read_free = library["archive_read_free"];
    decltype(&::archive_read_new) archive_read_new = library["archive_read_new"];
    decltype(&::archive_read_next_header) archive_read_next_header = library["archive_read_next_header"];
    decltype(&::archive_read_open) archive_read_open = library["archive_read_open"];
    decltype(&::archive_read_support_filter_gzip) archive_read_support_filter_gzip =
        library["archive_read_support_filter_gzip"];
    decltype(&::archive_read_support_format_tar) archive_read_support_format_tar =
        library["archive_read_support_format_tar"];
    decltype(&::archive_set_error) archive_set_error = library["archive_set_error"];
    decltype(&::archive_write_add_filter_gzip) archive_write_add_filter_gzip = library["archive_write_add_filter_gzip"];
    decltype(&::archive_write_close) archive_write_close = library["archive_write_close"];
    decltype(&::archive_write_data) archive_write_data = library["archive_write_data"];
    decltype(&::archive_write_data_block) archive_write_data_block = library["archive_write_data_block"];
    decltype(&::archive_write_disk_new) archive_write_disk_new = library["archive_write_disk_new"];
    decltype(&::archive_write_disk_set_options) archive_write_disk_set_options =
        library["archive_write_disk_set_options"];
    decltype(&::archive_write_fail) archive_write_fail = library["archive_write_fail"];
    decltype(&::archive_write_finish_entry) archive_write_finish_entry = library["archive_write_finish_entry"];
    decltype(&::archive_write_free) archive_write_free = library["archive_write_free"];
    decltype(&::archive_write_header) archive_write_header = library["archive_write_header"];
    decltype(&::archive_write_new) archive_write_new = library["archive_write_new"];
    decltype(&::archive_write_open_fd) archive_write_open_fd = library["archive_write_open_fd"];
    decltype(&::archive_write_set_filter_option) archive_write_set_filter_option =
        library["archive_write_set_filter_option"];
    decltype(&::archive_write_set_format_option) archive_write_set_format_option =
        library["archive_write_set_format_option"];
    decltype(&::archive_write_set_format_pax) archive_write_set_format_pax = library["archive_write_set_format_pax"];

    /// Throws Error with the library's message about `of` if `result` isn't ARCHIVE_OK. Even a warning is a failure:
    /// libarchive reports omitted content only by a warning.
    template <typename... Args>
    void check(int result, archive* of, Located<Args...> what, Args&&... args) const {
        if (result >= ARCHIVE_OK)
            return;
        // libarchive gives EILSEQ for a wrong format, and a negative number without an error of the kernel.
        const int code = archive_errno(of);
        Error error(code > 0 && code != EILSEQ ? code : 0, fmt::format(what.text, std::forward<Args>(args)...),
                    what.where);
        if (const char* const text = archive_error_string(of); text != nullptr)
            error.addHint(text);
        throw error;
    }
};

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

struct CloseArchivedDirectory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
struct FreeWriter {
    const ArchiveFunctions& lib;
    void operator()(archive* writer) const noexcept {
        // Marks the archive as failed. Otherwise archive_write_free() would pad the current file and complete the
        // archive.
        lib.archive_write_fail(writer);
        lib.archive_write_free(writer);
    }
};
using Entry = std::unique_ptr<archive_entry, decltype(&::archive_entry_free)>;
/// Object of libarchive that reads an archive or writes files.
using Archive = std::unique_ptr<archive, int (*)(archive*)>;

/// Returns a path of a file in a directory, for calls that don't accept a directory descriptor.
std::string pathAt(int directory, const std::string& name) {
    return fmt::format("/proc/self/fd/{}/{}", directory, name);
}

/// Maximum depth of directories in an archived file system.
constexpr int kDeepestDirectory = 1000;

class ArchiveWriter {
public:
    ArchiveWriter(const ArchiveFunctions& lib, int to, const model::IdMap& ids, FileContents* apart, StopRequest& stop)
        : lib_(lib), ids_(ids), apart_(apart), stop_(stop), writer_(lib.archive_write_new(), {lib}), block_(kBlock) {
        archive* const writer = writer_.get();
        lib_.check(lib_.archive_write_set_format_pax(writer), writer, "choose the format of an archive");
        // Stores names as bytes, independent of criu's locale.
        lib_.check(lib_.archive_write_set_format_option(writer, "pax", "hdrcharset", "BINARY"), writer,
                   "choose the format of an archive");
        lib_.check(lib_.archive_write_add_filter_gzip(writer), writer, "choose the compression of an archive");
        lib_.check(lib_.archive_write_set_filter_option(writer, "gzip", "compression-level", "1"), writer,
                   "choose the compression of an archive");
        lib_.check(lib_.archive_write_open_fd(writer, to), writer, "begin an archive");
    }

    void addTree(int directory, const std::string& path) {
        add(directory, ".", path);
        walk(directory, path);
    }

    std::vector<SocketFile> finish() {
        lib_.check(lib_.archive_write_close(writer_.get()), writer_.get(), "end an archive");
        return std::move(sockets_);
    }

private:
    static std::vector<std::string> namesIn(int directory, const std::string& path) {
        const std::unique_ptr<DIR, CloseArchivedDirectory> open(
            ::fdopendir(sys(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", path)));
        if (!open)
            failErrno("list {}", path);
        std::vector<std::string> names;
        while (const dirent* const entry = ::readdir(open.get()))
            if (const std::string_view name = entry->d_name; name != "." && name != "..")
                names.emplace_back(name);
        std::sort(names.begin(), names.end());
        return names;
    }

    /// Adds all files below a directory. `depth`: number of parent directories that are open. The depth is limited:
    /// each level needs a descriptor and stack space, and an untrusted user may choose the depth.
    void walk(int directory, const std::string& path, int depth = 0) {
        if (depth == kDeepestDirectory)
            fail("directories are nested in each other more than {} levels deep", kDeepestDirectory);
        for (const std::string& name : namesIn(directory, path)) {
            const std::string below = path + '/' + name;
            if (!add(directory, name, below))
                continue;
            const UniqueFd child(sys(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                                     "open {}", below));
            walk(child.get(), below, depth + 1);
        }
    }

    /// Adds one file. Returns true if it is a directory.
    bool add(int directory, const std::string& name, const std::string& path) {
        stop_.throwIfRequested();
        struct stat stat {};
        sys(::fstatat(directory, name.c_str(), &stat, AT_SYMLINK_NOFOLLOW), "stat {}", path);
        const struct stat original = stat;
        stat.st_uid = ids_.seenUid(stat.st_uid);
        stat.st_gid = ids_.seenGid(stat.st_gid);
        if (S_ISSOCK(stat.st_mode)) {
            sockets_.push_back({path, stat.st_mode & 07777, stat.st_uid, stat.st_gid, stat.st_mtim});
            return false;
        }
        const Entry entry(lib_.archive_entry_new(), lib_.archive_entry_free);
        lib_.archive_entry_copy_stat(entry.get(), &stat);
        lib_.archive_entry_copy_pathname(entry.get(), path.c_str());
        if (!S_ISDIR(stat.st_mode) && stat.st_nlink > 1) {
            const auto [first, fresh] = links_.try_emplace(stat.st_ino, path);
            if (!fresh) {
                lib_.archive_entry_set_size(entry.get(), 0);
                lib_.archive_entry_copy_hardlink(entry.get(), first->second.c_str());
                header(entry, path);
                return false;
            }
        }
        const bool hasCapabilities = addAttributes(entry.get(), pathAt(directory, name), path);
        if (S_ISLNK(stat.st_mode))
            addTarget(entry.get(), directory, name, path);
        if (S_ISREG(stat.st_mode) && apart_ != nullptr && apart_->take(path, original, hasCapabilities)) {
            lib_.archive_entry_set_size(entry.get(), 0);
            header(entry, path);
        } else if (S_ISREG(stat.st_mode))
            addFile(entry, directory, name, path, original);
        else
            header(entry, path);
        return S_ISDIR(stat.st_mode);
    }

    void header(const Entry& entry, const std::string& path) {
        lib_.check(lib_.archive_write_header(writer_.get(), entry.get()), writer_.get(), "put {} into an archive",
                   path);
    }

    void addTarget(archive_entry* entry, int directory, const std::string& name, const std::string& path) {
        std::vector<char> target(PATH_MAX);
        const ssize_t length =
            sys(::readlinkat(directory, name.c_str(), target.data(), target.size() - 1), "read link {}", path);
        target[static_cast<std::size_t>(length)] = '\0';
        lib_.archive_entry_copy_symlink(entry, target.data());
    }

    /// Adds the extended attributes. Returns true if the file has file capabilities (capabilities(7)).
    bool addAttributes(archive_entry* entry, const std::string& name, const std::string& path) {
        bool hasCapabilities = false;
        std::vector<char> names(XATTR_LIST_MAX);
        const ssize_t length = ::llistxattr(name.c_str(), names.data(), names.size());
        if (length < 0 && errno == ENOTSUP)
            return false;
        sys(length, "list extended attributes of {}", path);
        std::vector<char> value(XATTR_SIZE_MAX);
        for (const char* at = names.data(); at < names.data() + length; at += std::strlen(at) + 1) {
            const ssize_t size = sys(::lgetxattr(name.c_str(), at, value.data(), value.size()),
                                     "read extended attribute {} of {}", at, path);
            lib_.archive_entry_xattr_add_entry(entry, at, value.data(), static_cast<std::size_t>(size));
            hasCapabilities |= std::strcmp(at, XATTR_NAME_CAPS) == 0;
        }
        return hasCapabilities;
    }

    void addFile(const Entry& entry, int directory, const std::string& name, const std::string& path,
                 const struct stat& seen) {
        const ErrorContext context([&] { return fmt::format("file {}", path); });
        // O_NONBLOCK, because an outside process may replace the file by a fifo: openat(2) would then wait for a
        // writer.
        constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_CLOEXEC;
        const UniqueFd file(sys(::openat(directory, name.c_str(), kHow), "open {}", path));
        requireSameFile(file.get(), seen);
        const off_t size = seen.st_size;
        std::vector<std::pair<off_t, off_t>> data;
        forEachData(file.get(), static_cast<std::uint64_t>(size), [&](std::uint64_t start, std::uint64_t end) {
            data.emplace_back(static_cast<off_t>(start), std::min(static_cast<off_t>(end), size));
        });
        const bool holes = size > 0 && (data.size() != 1 || data.front() != std::pair(off_t{0}, size));
        if (holes) {
            for (const auto& [begin, end] : data)
                lib_.archive_entry_sparse_add_entry(entry.get(), begin, end - begin);
            if (data.empty())
                lib_.archive_entry_sparse_add_entry(entry.get(), 0, 0);
        }
        header(entry, path);
        off_t at = 0;
        for (const auto& [begin, end] : data) {
            zeros(begin - at, path);
            copy(file.get(), begin, end, path);
            at = end;
        }
        zeros(size - at, path);
    }

    void put(std::size_t length, const std::string& path) {
        stop_.throwIfRequested();
        for (std::size_t done = 0; done < length;) {
            const la_ssize_t put = lib_.archive_write_data(writer_.get(), block_.data() + done, length - done);
            lib_.check(static_cast<int>(std::min<la_ssize_t>(put, 0)), writer_.get(),
                       "put content of {} into an archive", path);
            if (put == 0)
                fail("put content of {} into an archive: it takes no more", path);
            done += static_cast<std::size_t>(put);
        }
    }

    void copy(int file, off_t at, off_t end, const std::string& path) {
        while (at < end) {
            const std::size_t want = std::min(block_.size(), static_cast<std::size_t>(end - at));
            const ssize_t got = sys(::pread(file, block_.data(), want, at), "read {}", path);
            if (got == 0)
                fail("{} shrank while it was read", path);
            put(static_cast<std::size_t>(got), path);
            at += got;
        }
    }

    /// Passes the zeroes of a hole to the library. The library omits them, because the entry describes the hole as
    /// sparse.
    void zeros(off_t count, const std::string& path) {
        std::fill_n(block_.begin(), std::min<off_t>(count, static_cast<off_t>(block_.size())), std::byte{});
        while (count > 0) {
            const std::size_t part = std::min(block_.size(), static_cast<std::size_t>(count));
            put(part, path);
            count -= static_cast<off_t>(part);
        }
    }

    const ArchiveFunctions& lib_;
    const model::IdMap& ids_;
    FileContents* const apart_;
    StopRequest& stop_;
    std::unique_ptr<archive, FreeWriter> writer_;
    std::vector<std::byte> block_;
    std::map<ino_t, std::string> links_;
    std::vector<SocketFile> sockets_;
};

/// File from which libarchive reads an archive by a callback. archive_read_open_fd(3) would call fstat(2), which a
/// confined process may not call.
struct ArchiveInput {
    const ArchiveFunctions& lib;
    int fd;
    std::vector<std::byte> block = std::vector<std::byte>(kBlock);

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
    Entry entry_;
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
    ArchiveWriter writer(*library_, to, ids, apart, stop);
    writer.addTree(directory, ".");
    return writer.finish();
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
