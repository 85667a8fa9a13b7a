#include "CEmisoraFFmpeg.h"
