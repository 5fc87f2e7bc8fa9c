// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

/// libarchive(3), which criu loads when it needs the library.
namespace criu::namespaces {

inline constexpr const char* kArchiveLibrary = "libarchive.so.13";
/// Bytes of content that criu reads or writes at once.
inline constexpr std::size_t kArchiveBlock = std::size_t{1} << 20;

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

/// Description of one file in an archive.
using ArchiveEntry = std::unique_ptr<archive_entry, decltype(&::archive_entry_free)>;
/// Object of libarchive that reads an archive or writes files.
using Archive = std::unique_ptr<archive, int (*)(archive*)>;

}  // namespace criu::namespaces
