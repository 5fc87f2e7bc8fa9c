// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::namespaces {

constexpr const char* kArchiveLibrary = "libarchive.so.13";

/// The functions of libarchive(3) that criu uses, loaded with this object. The members have the functions' names.
struct ArchiveFunctions {
    SharedLibrary library{kArchiveLibrary, "libarchive13"};
    decltype(&::archive_entry_atime) archive_entry_atime = library["archive_entry_atime"];
    decltype(&::archive_entry_atime_nsec) archive_entry_atime_nsec = library["archive_entry_atime_nsec"];
    decltype(&::archive_entry_copy_hardlink) archive_entry_copy_hardlink = library["archive_entry_copy_hardlink"];
    decltype(&::archive_entry_copy_pathname) archive_entry_copy_pathname = library["archive_entry_copy_pathname"];
    decltype(&::archive_entry_copy_stat) archive_entry_copy_stat = library["archive_entry_copy_stat"];
    decltype(&::archive_entry_copy_symlink) archive_entry_copy_symlink = library["archive_entry_copy_symlink"];
    decltype(&::archive_entry_free) archive_entry_free = library["archive_entry_free"];
    decltype(&::archive_entry_mtime) archive_entry_mtime = library["archive_entry_mtime"];
    decltype(&::archive_entry_mtime_nsec) archive_entry_mtime_nsec = library["archive_entry_mtime_nsec"];
    decltype(&::archive_entry_new) archive_entry_new = library["archive_entry_new"];
    decltype(&::archive_entry_pathname) archive_entry_pathname = library["archive_entry_pathname"];
    decltype(&::archive_entry_set_size) archive_entry_set_size = library["archive_entry_set_size"];
    decltype(&::archive_entry_sparse_add_entry) archive_entry_sparse_add_entry =
        library["archive_entry_sparse_add_entry"];
    decltype(&::archive_entry_xattr_add_entry) archive_entry_xattr_add_entry = library["archive_entry_xattr_add_entry"];
    decltype(&::archive_error_string) archive_error_string = library["archive_error_string"];
    decltype(&::archive_read_data_block) archive_read_data_block = library["archive_read_data_block"];
    decltype(&::archive_read_free) archive_read_free = library["archive_read_free"];
    decltype(&::archive_read_new) archive_read_new = library["archive_read_new"];
    decltype(&::archive_read_next_header) archive_read_next_header = library["archive_read_next_header"];
    decltype(&::archive_read_open_fd) archive_read_open_fd = library["archive_read_open_fd"];
    decltype(&::archive_read_support_filter_gzip) archive_read_support_filter_gzip =
        library["archive_read_support_filter_gzip"];
    decltype(&::archive_read_support_format_tar) archive_read_support_format_tar =
        library["archive_read_support_format_tar"];
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

    /// Throws Error with the library's message for `of` unless `result` is ARCHIVE_OK. libarchive reports content that
    /// it left out as a warning; criu treats it as a failure.
    template <typename... Args>
    void check(int result, archive* of, Located<Args...> what, Args&&... args) const {
        if (result >= ARCHIVE_OK)
            return;
        Error error(0, fmt::format(what.text, std::forward<Args>(args)...), what.where);
        if (const char* const text = archive_error_string(of); text != nullptr)
            error.addHint(text);
        throw error;
    }
};

}  // namespace criu::namespaces
