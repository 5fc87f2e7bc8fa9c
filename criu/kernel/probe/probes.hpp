// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// Probes, one for each feature. A probe returns true if the feature works for this process, and changes nothing
/// permanently. The class Features calls the probes and stores the results; it treats a criu::Error as false.
namespace criu::kernel::probe {

// files.cpp
bool mountIdInFdinfo();
bool locksInFdinfo();
bool timerfdTicks();
bool tun();
bool tunNetNs();
bool kcmpEpoll();
bool openat2();
bool closeRange();
bool inotifyNextWd();

// memory.cpp
bool dirtyTracking();
bool pagemapScan();
bool pagemapScanGuards();
bool madviseGuard();
bool mapDroppable();
bool memfdCreate();
bool memfdHugetlb();
bool thpDisable();
bool prctlMmMap();
bool uffd();
bool uffdNonCooperative();
bool aioRemap();

// process.cpp
bool userNs();
bool cgroupNs();
bool timeNs();
bool nsPid();
bool loginUid();
bool clone3SetTid();
bool pidfdStore();
bool timerRestoreIds();
bool membarrierRegistrations();
bool appArmorStacking();

// ptrace.cpp
bool seccompSuspend();
bool seccompFilters();
bool rseqConfiguration();

// sockets.cpp
bool socketNetNs();
bool unixSocketFile();
bool socketBufferLock();
bool ipv6Freebind();
bool tcpHalfClosed();
bool rawDiag();
bool rawSockets();
bool netNsId();
bool linkNetNsId();
bool newIfIndex();
bool nftables();
bool nftablesConcat();
bool iptablesLegacy();

// mounts.cpp
bool autofs();
bool moveMountSetGroup();
bool overlayfsMaps();
bool mountApi();

// arch/*/probes.cpp; these return false if the processor lacks the feature.
bool mapVdso();
bool compatTasks();
bool shadowStack();
bool breakpoints();

}  // namespace criu::kernel::probe
