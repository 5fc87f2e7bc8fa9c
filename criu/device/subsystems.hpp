// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

namespace criu::device {

class Subsystem;
using Subsystems = std::vector<std::unique_ptr<Subsystem>>;

}  // namespace criu::device
