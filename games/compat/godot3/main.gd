# A game with Godot 3: it prints each input that it takes, plays a tone, and saves the number of its sessions.
extends Node2D

var at = 0.0
var phase = 0.0
var playback

func _ready():
	Input.set_mouse_mode(Input.MOUSE_MODE_CAPTURED)
	var file = File.new()
	var before = 0
	if file.open("user://save.txt", File.READ) == OK:
		before = int(file.get_line())
		file.close()
	print("sessions ", before)
	file.open("user://save.txt", File.WRITE)
	file.store_line(str(before + 1))
	file.close()
	var player = AudioStreamPlayer.new()
	player.stream = AudioStreamGenerator.new()
	add_child(player)
	player.play()
	playback = player.get_stream_playback()

func _process(delta):
	at += delta
	for _i in range(playback.get_frames_available()):
		phase = fmod(phase + 440.0 / 44100.0, 1.0)
		playback.push_frame(Vector2.ONE * 0.2 * sin(phase * TAU))
	update()

func _draw():
	draw_rect(Rect2(0, 0, 1280, 720), Color(0.1, 0.2, 0.4))
	draw_rect(Rect2(200 + fmod(at * 50, 300), 200, 300, 300), Color(0.9, 0.6, 0.2))

func _input(event):
	if event is InputEventKey and event.pressed and not event.echo:
		print("key ", OS.get_scancode_string(event.scancode))
	if event is InputEventMouseMotion:
		print("look ", event.relative.x, " ", event.relative.y)
	if event is InputEventJoypadButton and event.pressed:
		print("pad ", event.button_index)
		Input.start_joy_vibration(event.device, 0.5, 0.5, 0.5)

func _notification(what):
	if what == MainLoop.NOTIFICATION_WM_QUIT_REQUEST:
		print("bye")
