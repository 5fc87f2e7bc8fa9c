// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/archive_writer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/mount/archive_library.hpp"
#include "criu/namespaces/mount/file_contents.hpp"

namespace criu::namespaces {
namespace {

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

/// Returns a path of a file in a directory, for calls that don't accept a directory descriptor.
std::string pathAt(int directory, const std::string& name) {
    return fmt::format("/proc/self/fd/{}/{}", directory, name);
}

/// Maximum depth of directories in an archived file system.
constexpr int kDeepestDirectory = 1000;

class ArchiveWriter {
public:
    ArchiveWriter(const ArchiveFunctions& lib, int to, const model::IdMap& ids, FileContents* apart, StopRequest& stop)
        : lib_(lib),
          ids_(ids),
          apart_(apart),
          stop_(stop),
          writer_(lib.archive_write_new(), {lib}),
          block_(kArchiveBlock) {
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
        const ArchiveEntry entry(lib_.archive_entry_new(), lib_.archive_entry_free);
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

    void header(const ArchiveEntry& entry, const std::string& path) {
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

    void addFile(const ArchiveEntry& entry, int directory, const std::string& name, const std::string& path,
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

}  // namespace

std::vector<SocketFile> packFiles(const ArchiveFunctions& lib, int directory, int to, const model::IdMap& ids,
                                  FileContents* apart, StopRequest& stop) {
    ArchiveWriter writer(lib, to, ids, apart, stop);
    writer.addTree(directory, ".");
    return writer.finish();
}

}  // namespace criu::namespaces
