#include "CEmisoraJPEG.h"
