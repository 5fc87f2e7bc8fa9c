// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

/// Forward declarations of dump and restore halves, for headers that only declare functions that create them.
namespace criu::files {

class FileKindDump;
class FileKindRestore;

}  // namespace criu::files
