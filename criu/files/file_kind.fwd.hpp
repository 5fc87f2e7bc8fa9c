// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

/// Forward declarations of the halves of fd kinds, for headers that declare only functions that create them.
namespace criu::files {

class FileKindDump;
class FileKindRestore;

}  // namespace criu::files
